import { z } from "zod";
import { SENSOR_HEALTHS, SENSOR_KINDS, SENSOR_STATES } from "../../shared/bmc/operations/sensors.ts";
import { actionReference } from "../harness/input/reference.ts";

const threshold = z.number().optional();
const sensor = z.strictObject({
  name: z.string().describe("The BMC's name for it"),
  kind: z.enum(SENSOR_KINDS).describe("What it measures; other includes humidity, energy and states"),
  value: z.number().optional().describe("The reading; absent if the sensor has only states, or no reading"),
  unit: z.string().optional().describe("The unit of the value and the thresholds, such as °C, RPM, V, A, W"),
  health: z.enum(SENSOR_HEALTHS).describe("What the BMC says, else what the thresholds say"),
  thresholds: z
    .strictObject({
      lowerFatal: threshold.describe("Below it the part cannot work"),
      lowerCritical: threshold.describe("Below it the health is critical"),
      lowerWarning: threshold.describe("Below it the health is a warning"),
      upperWarning: threshold.describe("Above it the health is a warning"),
      upperCritical: threshold.describe("Above it the health is critical"),
      upperFatal: threshold.describe("Above it the part cannot work"),
    })
    .optional()
    .describe("The limits that the sensor has"),
  state: z
    .enum(SENSOR_STATES)
    .optional()
    .describe("Why there is no reading; not read: it belongs to another controller, or cannot be read"),
  reason: z.string().optional().describe("Why it could not be read, in one line"),
  events: z.array(z.string()).optional().describe("The states of a sensor without a number"),
  entity: z.string().optional().describe("The part that it is on"),
});

const counted = z.int().min(0);

export const reference = actionReference("read-sensors", {
  keywords: ["sensors", "temperature", "fan", "voltage", "power", "diagnostics"],
  readsOnly: true,
  mostRoundTrips: { redfish: 8, ipmi: 16 },
  output: {
    data: z.strictObject({
      counts: z
        .strictObject({
          ok: counted.describe("Number of healthy ones"),
          warning: counted.describe("Number of warnings"),
          critical: counted.describe("Number of critical ones"),
          unknown: counted.describe("Number of those without a health, absent ones included"),
        })
        .describe("Number of sensors by health"),
      sensors: z.array(sensor).describe("The sensors in the order of the BMC"),
    }),
  },
  result: {
    message: "3 sensors: 1 ok, 1 absent, 1 critical: Fan 3 (0 RPM) via redfish",
    changed: false,
    durationMs: 402,
    roundTrips: 5,
    data: {
      counts: { ok: 1, warning: 0, critical: 1, unknown: 1 },
      sensors: [
        {
          name: "CPU1 Temp",
          kind: "temperature",
          value: 48,
          unit: "°C",
          health: "ok",
          thresholds: { upperWarning: 85, upperCritical: 95 },
          entity: "CPU",
        },
        { name: "CPU2 Temp", kind: "temperature", health: "unknown", state: "absent" },
        {
          name: "Fan 3",
          kind: "fan",
          value: 0,
          unit: "RPM",
          health: "critical",
          thresholds: { lowerCritical: 600 },
        },
      ],
    },
  },
});
