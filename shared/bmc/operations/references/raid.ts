import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const RAID = {
  kind: "create",
  controller: "RAID.1",
  volume: { name: "os", level: "RAID1", drives: ["0", "1"] },
} as const;

export const reference = operationReference("raid", {
  check: {
    means: "The RAID controllers, drives and volumes were read",
    roundTrips: { redfish: 5 },
    example: { ...ok("2 drives, no volumes"), durationMs: 217 },
  },
  calls: {
    read: (raid, signal) => raid.read(signal),
    pending: (raid, signal) => raid.pending("RAID.1", signal),
    plan: (raid, signal) => raid.plan(RAID, "on-reset", signal),
    send: (raid, signal) => raid.send(RAID, undefined, signal),
  },
});
