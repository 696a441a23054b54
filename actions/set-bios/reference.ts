import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { biosState } from "../harness/input/reference-parts.ts";

const registry = "BiosAttributeRegistry.v1_0_0";

export const reference = actionReference("set-bios", {
  environment: { BIOS_ATTRIBUTES: "ProcTurboMode=Disabled, NumCores=8" },
  keywords: ["bios", "uefi"],
  mostRoundTrips: { redfish: 13 },
  polls: true,
  output: {
    before: biosState,
    after: biosState,
    data: z.strictObject({
      validated: z.boolean().describe("Whether the values were checked against the BMC's attribute registry"),
    }),
  },
  result: {
    message: "ProcTurboMode=Disabled, NumCores=8, in effect after the next boot via redfish",
    before: { attributes: { ProcTurboMode: "Enabled", NumCores: 16 }, pending: {}, registry },
    after: {
      attributes: { ProcTurboMode: "Enabled", NumCores: 16 },
      pending: { ProcTurboMode: "Disabled", NumCores: 8 },
      registry,
    },
    changed: true,
    durationMs: 940,
    roundTrips: 12,
    data: { validated: true },
  },
});
