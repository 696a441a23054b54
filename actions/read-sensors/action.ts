import {
  describeReading,
  describeSensors,
  SENSOR_HEALTHS,
  type SensorReading,
  type SensorThresholds,
} from "../../shared/bmc/operations/sensors.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

/** Formats sensors as a table. A range goes from the lower threshold to the upper one. */
function sensorTable(sensors: readonly SensorReading[]): string {
  return formatTable(
    ["sensor", "kind", "reading", "health", "warning outside", "critical outside"],
    sensors.map((sensor) => {
      const { name, kind, health, thresholds = {} } = sensor;
      const ranges = [rangeOf(thresholds, "Warning"), rangeOf(thresholds, "Critical")];
      return [name, kind, describeReading(sensor), health, ...ranges];
    }),
    [2],
  );
}

/** Formats a range: `3 to 42`, `up to 95`, `from 600`, or nothing. */
function rangeOf(thresholds: SensorThresholds, level: "Warning" | "Critical"): string {
  const lower = thresholds[`lower${level}`];
  const upper = thresholds[`upper${level}`];
  if (lower !== undefined && upper !== undefined) return `${lower} to ${upper}`;
  if (upper !== undefined) return `up to ${upper}`;
  return lower === undefined ? "" : `from ${lower}`;
}

export default defineAction({
  name: "read-sensors",
  summary: "Read a machine's temperatures, fans, voltages and power",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const sensors = await bmc.getSensors(signal);
    const counts = Object.fromEntries(
      SENSOR_HEALTHS.map((health) => [health, sensors.filter((one) => one.health === health).length]),
    );
    return { summary: describeSensors(sensors), changed: false, data: { counts, sensors } };
  },
  table: ({ sensors }) => sensorTable(sensors),
});
