import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("bootorder", {
  check: {
    means: "The UEFI boot order was read",
    roundTrips: { redfish: 5 },
    example: { ...ok("boot order Hard Drive, PXE NIC 1, UEFI Shell"), durationMs: 217 },
  },
  calls: {
    read: (bootorder, signal) => bootorder.read(signal),
    plan: (bootorder, signal) => bootorder.plan(["Boot0002", "Boot0001", "Boot0003"], signal),
    write: (bootorder, signal) => bootorder.write(["Boot0002", "Boot0001", "Boot0003"], signal),
  },
});
