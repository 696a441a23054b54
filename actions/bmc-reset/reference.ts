import type { ActionReference } from "../harness/input/reference.ts";

export const reference: ActionReference = {
  environment: { KIND: "cold", ANSWER_TIMEOUT: "5m" },
  keywords: ["bmc", "reboot", "cold-reset"],
  output: {},
  result: {
    action: "bmc-reset",
    machine: "node-01",
    ok: true,
    message: "BMC reset (cold), answers again after 1m 34s via redfish",
    provider: "redfish",
    changed: true,
    durationMs: 94870,
    roundTrips: 9,
  },
};
