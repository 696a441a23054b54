import { defined } from "../../../../defined.ts";
import type { SensorHealth, SensorReading } from "../../../operations/sensors.ts";

/** Healths, the worst last. */
const HEALTHS: readonly SensorHealth[] = ["unknown", "ok", "warning", "critical"];

/**
 * Merges the readings of two sources that may describe the same sensors: one reading per name and kind, with the value that
 * one of them has and the worse health. Sensors with the same name in one source stay separate.
 */
export function mergeReadings(
  first: readonly SensorReading[],
  second: readonly SensorReading[],
): readonly SensorReading[] {
  const merged = [...first];
  const taken = new Set<number>();
  for (const reading of second) {
    const at = first.findIndex((one, index) => !taken.has(index) && isSameSensor(one, reading));
    const twin = merged[at];
    if (twin === undefined) {
      merged.push(reading);
    } else {
      taken.add(at);
      merged[at] = ofBoth(twin, reading);
    }
  }
  return merged;
}

/** Merges the readings of several chassis. Names that are not unique get the name of their chassis. */
export function nameByChassis(
  found: readonly { readonly chassis: string; readonly readings: readonly SensorReading[] }[],
): readonly SensorReading[] {
  const chassisOfName = new Map<string, Set<string>>();
  for (const { chassis, readings } of found) {
    for (const { name } of readings) {
      chassisOfName.set(name, (chassisOfName.get(name) ?? new Set()).add(chassis));
    }
  }
  return found.flatMap(({ chassis, readings }) =>
    readings.map((reading) =>
      (chassisOfName.get(reading.name)?.size ?? 0) > 1
        ? { ...reading, name: `${reading.name} (${chassis})` }
        : reading,
    ),
  );
}

function ofBoth(one: SensorReading, other: SensorReading): SensorReading {
  const [better, worse] = one.value === undefined && other.value !== undefined ? [other, one] : [one, other];
  const isWorse = HEALTHS.indexOf(worse.health) > HEALTHS.indexOf(better.health);
  return {
    ...better,
    ...defined({ thresholds: better.thresholds ?? worse.thresholds, entity: better.entity ?? worse.entity }),
    health: isWorse ? worse.health : better.health,
  };
}

function isSameSensor(one: SensorReading, other: SensorReading): boolean {
  // A sensor without a reading may not say what it measures.
  const isSameKind = one.kind === other.kind || one.kind === "other" || other.kind === "other";
  return isSameKind && spelling(one.name) === spelling(other.name);
}

function spelling(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}
