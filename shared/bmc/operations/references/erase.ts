import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const DRIVE = { id: "0", path: "/redfish/v1/Systems/1/Storage/RAID.1/Drives/0", offered: true } as const;

export const reference = operationReference("erase", {
  check: {
    means: "The BMC lists how many drives it can erase; none is erased",
    roundTrips: { redfish: 4 },
    example: { ...ok("2 of 2 drives"), durationMs: 171 },
  },
  calls: {
    list: (erase, signal) => erase.list(signal),
    plan: (erase, signal) => erase.plan(DRIVE, "crypto-erase", signal),
    send: (erase, signal) => erase.send(DRIVE, undefined, signal),
  },
});
