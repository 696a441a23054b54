import type { ActionReference } from "../harness/input/reference.ts";
import { ntpSettings } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: { NTP_SERVERS: "ntp1.example.org,192.0.2.123" },
  keywords: ["ntp", "time", "clock"],
  output: { before: ntpSettings, after: ntpSettings },
  result: {
    action: "set-ntp",
    machine: "node-01",
    ok: true,
    message: "NTP on (ntp1.example.org, 192.0.2.123) via redfish",
    provider: "redfish",
    before: { enabled: false, servers: [] },
    after: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    changed: true,
    durationMs: 612,
    roundTrips: 7,
  },
};
