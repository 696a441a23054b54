import type { ActionReference } from "../harness/input/reference.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["sol", "serial", "console"],
  output: {},
  result: {
    action: "deactivate-sol",
    machine: "node-01",
    ok: true,
    message: "SOL session ended via ipmi",
    provider: "ipmi",
    changed: true,
    durationMs: 143,
    roundTrips: 6,
  },
};
