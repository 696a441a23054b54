import type { ActionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["nmi", "crash-dump", "diagnostics"],
  output: { before: powerState },
  result: {
    action: "send-nmi",
    machine: "node-01",
    ok: true,
    message: "NMI sent via redfish",
    provider: "redfish",
    before: "on",
    changed: true,
    durationMs: 318,
    roundTrips: 4,
  },
};
