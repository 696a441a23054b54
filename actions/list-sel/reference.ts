import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { SEVERITIES } from "./selection.ts";

const entry = z.strictObject({
  id: z.string().describe("The BMC's number of the entry"),
  at: z.string().optional().describe("The time in UTC (ISO 8601); absent if the BMC did not know it"),
  severity: z.enum(SEVERITIES).optional().describe("Absent if the BMC or the IPMI specification has none"),
  message: z.string().describe("What happened; with IPMI, the text of the specification"),
  unread: z.literal(true).optional().describe("Set if it could not be read; the message then says why"),
});

export const reference = actionReference("list-sel", {
  environment: { LIMIT: "20", SEVERITY: "warning" },
  keywords: ["sel", "event-log", "diagnostics"],
  readsOnly: true,
  mostRoundTrips: { redfish: 6, ipmi: 4 },
  output: {
    data: z.strictObject({
      total: z
        .int()
        .min(0)
        .describe("Number of entries in the log, listed or not, without those that could not be read"),
      critical: z.int().min(0).describe("Number of critical entries"),
      entries: z.array(entry).describe("The requested entries, oldest first"),
    }),
  },
  result: {
    message: "87 entries in the event log, 1 critical; 2 of at least warning via redfish",
    changed: false,
    durationMs: 702,
    roundTrips: 5,
    data: {
      total: 87,
      critical: 1,
      entries: [
        { id: "61", at: "2026-01-15T18:53:25.000Z", severity: "warning", message: "Fan 1 is slow." },
        { id: "62", at: "2026-01-15T18:59:02.000Z", severity: "critical", message: "Fan 1 has stopped." },
      ],
    },
  },
});
