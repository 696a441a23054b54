import {
  describeReading,
  type SensorReading,
  type SensorThresholds,
} from "../../shared/bmc/operations/sensors.ts";
import { formatTable } from "../../shared/table.ts";

/** For people; a range is from the lower threshold to the upper one. */
export function sensorTable(sensors: readonly SensorReading[]): string {
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

/** `3 to 42`, `up to 95`, `from 600`, or nothing. */
function rangeOf(thresholds: SensorThresholds, level: "Warning" | "Critical"): string {
  const lower = thresholds[`lower${level}`];
  const upper = thresholds[`upper${level}`];
  if (lower !== undefined && upper !== undefined) return `${lower} to ${upper}`;
  if (upper !== undefined) return `up to ${upper}`;
  return lower === undefined ? "" : `from ${lower}`;
}
