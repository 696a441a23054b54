import { actionReference } from "../harness/input/reference.ts";
import { ntpSettings } from "../harness/input/reference-parts.ts";

export const reference = actionReference("get-ntp", {
  keywords: ["ntp", "time", "clock"],
  readsOnly: true,
  mostRoundTrips: { redfish: 4 },
  output: { before: ntpSettings, after: ntpSettings, data: ntpSettings },
  result: {
    message: "NTP on (ntp1.example.org, 192.0.2.123) via redfish",
    before: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    after: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    changed: false,
    durationMs: 236,
    roundTrips: 4,
    data: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
  },
});
