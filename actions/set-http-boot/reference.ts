import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { bootOverride } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-http-boot", {
  environment: { HTTP_BOOT_URI: "https://192.0.2.9/boot.efi" },
  keywords: ["boot", "uefi", "http"],
  mostRoundTrips: { redfish: 7 },
  output: {
    after: bootOverride,
    data: z.strictObject({
      way: z
        .enum(["http-boot-uri", "bios-attributes"])
        .describe("How the BMC takes the URI: Redfish's HttpBootUri, or BIOS attributes of its make"),
    }),
  },
  result: {
    message:
      "boot uefi-http once (uefi), HTTP boot from https://192.0.2.9/boot.efi by HttpBootUri via redfish",
    after: { device: "uefi-http", persistent: false, mode: "uefi" },
    changed: true,
    durationMs: 640,
    roundTrips: 8,
    data: { way: "http-boot-uri" },
  },
});
