import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-http-boot", {
  environment: { HTTP_BOOT_URI: "https://192.0.2.9/boot.efi" },
  keywords: ["boot", "uefi", "http"],
  output: { after: bootOverride },
  result: {
    message: "boot uefi-http once (uefi), HTTP boot from https://192.0.2.9/boot.efi via redfish",
    after: { device: "uefi-http", persistent: false, mode: "uefi" },
    changed: true,
    durationMs: 640,
    roundTrips: 8,
  },
});
