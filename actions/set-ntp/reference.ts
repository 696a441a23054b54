import { actionReference } from "../harness/input/reference.ts";
import { ntpSettings } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-ntp", {
  environment: { NTP_SERVERS: "ntp1.example.org,192.0.2.123" },
  keywords: ["ntp", "time", "clock"],
  mostRoundTrips: { redfish: 7 },
  output: { before: ntpSettings, after: ntpSettings },
  result: {
    message: "NTP on (ntp1.example.org, 192.0.2.123) via redfish",
    before: { enabled: false, servers: [] },
    after: { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] },
    changed: true,
    durationMs: 612,
    roundTrips: 7,
  },
});
