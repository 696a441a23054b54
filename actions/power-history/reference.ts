import { z } from "zod";
import { POWER_EVENT_KINDS } from "../../shared/bmc/operations/power-events.ts";
import { PowerState } from "../../shared/contract/vocabulary.ts";
import { actionReference } from "../harness/input/reference.ts";

const time = z.string();

const event = z.strictObject({
  time: time
    .optional()
    .describe(
      "In UTC (ISO 8601); absent if the BMC did not know it, and the message may then have its clock",
    ),
  kind: z
    .enum(POWER_EVENT_KINDS)
    .describe("What it is about; supply is a power supply, fault any other critical entry"),
  message: z.string().describe("What happened, in the BMC's words; with IPMI, the text of the specification"),
  severity: z
    .enum(["ok", "warning", "critical"])
    .optional()
    .describe("Absent if the BMC or the IPMI specification has none"),
  source: z.string().describe("The log that has it"),
});

export const reference = actionReference("power-history", {
  environment: { WINDOW: "2h" },
  keywords: ["reset", "restart", "reboot", "watchdog", "event-log", "diagnostics"],
  readsOnly: true,
  mostRoundTrips: { redfish: 6, ipmi: 6 },
  output: {
    data: z.strictObject({
      power: z.enum(PowerState.options).optional().describe("The power now; absent if it could not be read"),
      lastReset: z
        .strictObject({
          time: time.optional().describe("In UTC (ISO 8601); absent if it is not known"),
          cause: z.string().optional().describe("Why; absent if neither the BMC nor its logs say it"),
          source: z.string().describe("The fields and logs that time and cause are from"),
        })
        .optional()
        .describe("The last start or restart; absent if the BMC and its logs say nothing of it"),
      bootCount: z
        .int()
        .min(0)
        .optional()
        .describe("How often the machine was started; absent if the BMC does not count it, as most"),
      lastPowerEvent: z
        .array(z.string())
        .optional()
        .describe("With IPMI, what last happened to the power, such as AC failed"),
      bootState: z.string().optional().describe("With Redfish, what the firmware reached last"),
      clock: z
        .strictObject({
          time: time.describe("The BMC's clock when it was read, in UTC (ISO 8601)"),
          offsetSeconds: z.int().describe("How far it is ahead of the worker's clock; negative: behind"),
        })
        .optional()
        .describe("The clock that the logs have their times from; absent if the BMC does not know the time"),
      total: z.int().min(0).describe("Number of events in the logs, listed or not"),
      events: z.array(event).describe("The events around the last restart, oldest first"),
      unread: z
        .array(
          z.strictObject({
            name: z.string().describe("What it is, such as the path of a log"),
            reason: z.string().describe("Why, in one line"),
          }),
        )
        .describe("What could not be read; the result says nothing of it"),
    }),
  },
  result: {
    message:
      "last restart at 2026-01-15T18:59:02.000Z: watchdog 2 sensor 0x71: hard reset (OS timer); 2 of 14 events via ipmi",
    changed: false,
    durationMs: 212,
    roundTrips: 19,
    data: {
      power: "on",
      lastReset: {
        time: "2026-01-15T18:59:02.000Z",
        cause: "watchdog 2 sensor 0x71: hard reset (OS timer)",
        source: "Get System Restart Cause, SEL",
      },
      clock: { time: "2026-01-16T08:12:44.000Z", offsetSeconds: 0 },
      total: 14,
      events: [
        {
          time: "2026-01-15T18:58:57.000Z",
          kind: "watchdog",
          message: "watchdog 2 sensor 0x71: hard reset (OS timer)",
          severity: "critical",
          source: "SEL",
        },
        {
          time: "2026-01-15T18:59:02.000Z",
          kind: "reset",
          message: "system boot initiated sensor 0x83: by hard reset",
          severity: "ok",
          source: "SEL",
        },
      ],
      unread: [],
    },
  },
});
