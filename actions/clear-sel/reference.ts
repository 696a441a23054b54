import type { ActionReference } from "../harness/input/reference.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["sel", "event-log"],
  output: {},
  result: {
    action: "clear-sel",
    machine: "node-01",
    ok: true,
    message: "event log cleared of 87 entries via redfish",
    provider: "redfish",
    changed: true,
    durationMs: 1290,
    roundTrips: 7,
  },
};
