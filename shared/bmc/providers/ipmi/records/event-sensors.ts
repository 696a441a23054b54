import type { Clock } from "../../../../clock.ts";
import { withTimeout } from "../../../../timeout.ts";
import type { SdrRepository } from "./sdr-repository.ts";
import type { SelRecord, SystemEvent } from "./sel-record.ts";
import type { SensorRecord } from "./sensor-record.ts";

/** With ipmitool, a program runs for each record, so a large repository is not worth the time. */
const LONGEST_MS = 10_000;

/**
 * Finds the sensors of events. The records are read until every sensor is found, for at most `LONGEST_MS`. A sensor that is
 * not found then is missing; all are missing if the BMC has no records.
 */
export async function eventSensors(
  records: readonly SelRecord[],
  repository: SdrRepository,
  clock: Clock,
  signal: AbortSignal,
): Promise<ReadonlyMap<SelRecord, SensorRecord>> {
  const events = records.filter((record) => record.kind === "system");
  const wanted = new Set(events.map(keyOfEvent));
  let sensors: readonly SensorRecord[] = [];
  const isEnough = (found: readonly SensorRecord[]) => {
    sensors = found;
    const keys = new Set(found.map(keyOfSensor));
    return [...wanted].every((key) => keys.has(key));
  };
  try {
    await withTimeout(LONGEST_MS, signal, (bound) => repository.read(bound, isEnough), clock);
  } catch {
    // The log is more important than the names of its sensors. Only the caller ends the reading of both.
    signal.throwIfAborted();
  }
  const byKey = new Map(sensors.map((sensor) => [keyOfSensor(sensor), sensor]));
  return new Map(
    events.flatMap((event) => {
      const sensor = byKey.get(keyOfEvent(event));
      return sensor ? [[event, sensor] as const] : [];
    }),
  );
}

const LUN = 0x03;

function keyOfEvent({ generator, sensor, sensorType }: SystemEvent): string {
  return [generator & 0xff, (generator >> 8) & LUN, sensor, sensorType].join();
}

function keyOfSensor({ owner, lun, number, sensorType }: SensorRecord): string {
  return [owner, lun & LUN, number, sensorType].join();
}
