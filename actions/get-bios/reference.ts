import { actionReference } from "../harness/input/reference.ts";
import { biosState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("get-bios", {
  environment: { ATTRIBUTES: "Boot*, NumCores" },
  keywords: ["bios", "uefi"],
  readsOnly: true,
  mostRoundTrips: { redfish: 4 },
  output: { data: biosState },
  result: {
    message: "2 BIOS attributes, 1 pending via redfish",
    changed: false,
    durationMs: 214,
    roundTrips: 4,
    data: {
      attributes: { BootMode: "Uefi", NumCores: 16 },
      pending: { NumCores: 8 },
      registry: "BiosAttributeRegistry.v1_0_0",
    },
  },
});
