import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("inventory", {
  check: {
    means: "The hardware was read",
    roundTrips: { redfish: 27, ipmi: 9 },
    example: {
      ...ok("Contoso 3500, 2 processors, 3 memory modules, 2 disks, 2 NICs, 2 firmware versions"),
      durationMs: 1171,
    },
  },
  calls: { read: (inventory, signal) => inventory.read(signal) },
});
