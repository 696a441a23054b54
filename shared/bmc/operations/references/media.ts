import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const IMAGE = { url: "http://192.0.2.1/x.iso" };

export const reference = operationReference("media", {
  check: {
    means:
      "The virtual CD drive was read; says by which protocols the BMC fetches images, if the BMC lists them, for which some need one request more",
    roundTrips: { redfish: 3 },
    example: { ...ok("an empty drive"), durationMs: 135 },
  },
  calls: {
    read: (media, signal) => media.read(signal),
    plan: (media, signal) => media.plan(IMAGE, signal),
    insert: (media, signal) => media.insert(IMAGE, signal),
    eject: (media, signal) => media.eject(signal),
    check: (media, signal) => media.check?.(IMAGE, signal),
    list: (media, signal) => media.list?.(signal),
    protocols: (media, signal) => media.protocols?.(signal),
  },
});
