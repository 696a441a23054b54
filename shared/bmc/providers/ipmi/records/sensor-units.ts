import type { SensorKind } from "../../../operations/sensors.ts";
import tables from "./sensor-tables.json" with { type: "json" };

/** The three unit bytes of a sensor record (IPMI 2.0 table 43-1, bytes 21 to 23). */
export interface UnitBytes {
  readonly flags: number;
  readonly base: number;
  readonly modifier: number;
}

const PER = 1;
const TIMES = 2;

/** The unit, such as `RPM`, `%` or `W/s`; undefined for a number without one. */
export function unitText({ flags, base, modifier }: UnitBytes): string | undefined {
  const main = tables.units[base] ?? "";
  const second = tables.units[modifier] ?? "";
  const how = (flags >> 1) & 0x03;
  const isPlain = main === "" || second === "";
  const both = isPlain
    ? main
    : how === PER
      ? `${main}/${second}`
      : how === TIMES
        ? `${main}·${second}`
        : main;
  const rate = tables.rates[(flags >> 3) & 0x07] ?? "";
  // With the percentage bit, the unit says what the percentage refers to.
  const text = `${(flags & 1) === 1 ? "%" : both}${rate}`;
  return text === "" ? undefined : text;
}

const KIND_OF_UNIT: Readonly<Record<string, SensorKind>> = {
  "°C": "temperature",
  "°F": "temperature",
  K: "temperature",
  V: "voltage",
  A: "current",
  W: "power",
  VA: "power",
  RPM: "fan",
  CFM: "fan",
};

/** Kinds of sensor types (table 42-3) that determine the meaning of a number, whatever its unit. */
const KIND_OF_TYPE: Readonly<Record<number, SensorKind>> = {
  1: "temperature",
  2: "voltage",
  3: "current",
  4: "fan",
};

/** The kind of a sensor. The unit decides, because vendors use type 3 for watts, and a fan may have a percentage. */
export function sensorKind(type: number, unit: string | undefined): SensorKind {
  return (unit === undefined ? undefined : KIND_OF_UNIT[unit]) ?? KIND_OF_TYPE[type] ?? "other";
}

const DEVICE_RELATIVE = 0x60;
const PRESENCE = 0x7f;

/** A part such as `processor 1` (table 43-13); undefined for parts that only the vendor knows. */
export function entityText(id: number, instance: number): string | undefined {
  const name = tables.entities[id];
  if (name === undefined || name === "") return undefined;
  const number = instance & PRESENCE;
  const shown = number >= DEVICE_RELATIVE ? number - DEVICE_RELATIVE : number;
  return shown === 0 ? name : `${name} ${shown}`;
}
