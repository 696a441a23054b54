import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const FIRMWARE = { image: { uri: "http://192.0.2.1/x.bin" }, targets: [{ id: "BMC", name: "BMC firmware" }] };

export const reference = operationReference("firmware", {
  check: {
    means: "The firmware inventory was read",
    roundTrips: { redfish: 5 },
    example: { ...ok("2 firmware entries"), durationMs: 215 },
  },
  calls: {
    list: (firmware, signal) => firmware.list(signal),
    plan: (firmware, signal) => firmware.plan(FIRMWARE, signal),
    send: (firmware, signal) => firmware.send(FIRMWARE, 1_000, signal),
  },
});
