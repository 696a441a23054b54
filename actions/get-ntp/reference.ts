import type { ActionReference } from "../harness/input/reference.ts";
import { ntpSettings } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["ntp", "time", "clock"],
  readsOnly: true,
  output: { before: ntpSettings, after: ntpSettings, data: ntpSettings },
  result: {
    action: "get-ntp",
    machine: "node-01",
    ok: true,
    message: "NTP on (ntp1.example.org, 192.0.2.123) via redfish",
    provider: "redfish",
    before: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    after: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    changed: false,
    durationMs: 236,
    roundTrips: 4,
    data: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
  },
};
