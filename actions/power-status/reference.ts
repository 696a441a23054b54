import { z } from "zod";
import type { ActionReference } from "../harness/input/reference.ts";
import { powerState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["power", "state"],
  readsOnly: true,
  output: { before: powerState, after: powerState, data: z.strictObject({ power: powerState }) },
  result: {
    action: "power-status",
    machine: "node-01",
    ok: true,
    message: "on via redfish",
    provider: "redfish",
    before: "on",
    after: "on",
    changed: false,
    durationMs: 894,
    roundTrips: 2,
    data: { power: "on" },
  },
};
