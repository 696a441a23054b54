import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("bios", {
  check: {
    means: "The BIOS attributes were read",
    roundTrips: { redfish: 2 },
    example: { ...ok("11 BIOS attributes"), durationMs: 89 },
  },
  calls: {
    read: (bios, signal) => bios.read(signal),
    isApplying: (bios, signal) => bios.isApplying(signal),
    registry: (bios, signal) => bios.registry("BiosAttributeRegistry.v1_0_0", signal),
    plan: (bios, signal) => bios.plan({ ProcTurboMode: "Disabled" }, "on-reset", signal),
    write: (bios, signal) => bios.write({ ProcTurboMode: "Disabled" }, "on-reset", signal),
    planReset: (bios, signal) => bios.planReset(signal),
    reset: (bios, signal) => bios.reset(signal),
  },
});
