import { defined } from "../../../../defined.ts";
import {
  healthOf,
  type SensorHealth,
  type SensorReading,
  type SensorState,
  type SensorThresholds,
} from "../../../operations/sensors.ts";
import type { Answer } from "../commands/channel.ts";
import { completionError, NOT_IN_PRESENT_STATE, NOT_PRESENT } from "../commands/completion-code.ts";
import { type RawReading, type RawThresholds, THRESHOLD_NAMES } from "./sensor-commands.ts";
import { convertReading, type Factors } from "./sensor-conversion.ts";
import {
  type EventMeaning,
  genericEvent,
  SENSOR_SPECIFIC_EVENT,
  sensorEvent,
  THRESHOLD_EVENT,
} from "./sensor-events.ts";
import type { SensorRecord } from "./sensor-record.ts";
import { entityText, sensorKind, unitText } from "./sensor-units.ts";

/** The BMC's answers about one sensor. */
export type SensorAnswers =
  | { readonly refused: Answer }
  /** The answer is not a reading. */
  | { readonly problem: string }
  | {
      readonly reading: RawReading;
      readonly thresholds: RawThresholds | undefined;
      /** The conversion factors of a non-linear sensor by raw value. */
      readonly factors: ReadonlyMap<number, Factors> | undefined;
    };

/** Sensor-specific states (table 42-3) which mean that the part is absent: offset by sensor type. */
const ABSENCE: Readonly<Record<number, number>> = { 37: 1 };

const NOT_SCANNED = "the BMC says of every sensor that it is not scanned";

/**
 * Describes a sensor. `answers` is undefined if the sensor was not read. With `ignoresScanning`, a sensor that reports no
 * scanning still has its reading.
 */
export function describeSensor(
  record: SensorRecord,
  answers: SensorAnswers | undefined,
  { ignoresScanning = false } = {},
): SensorReading {
  const unit = record.analog && record.units && unitText(record.units);
  const described = {
    name: record.name,
    kind: sensorKind(record.sensorType, unit),
    ...defined({ entity: entityText(record.entityId, record.entityInstance) }),
  };
  const without = (state: SensorState, reason?: string): SensorReading => ({
    ...described,
    health: "unknown",
    state,
    ...defined({ reason }),
  });
  if (!answers) return without("not read");
  if ("refused" in answers) return without(...stateOfRefusal(answers.refused));
  if ("problem" in answers) return without("not read", answers.problem);
  const { reading, thresholds, factors } = answers;
  if (!reading.isScanned && !ignoresScanning) return without("disabled");
  if (!reading.isAvailable) return without("unavailable");
  const doubt = reading.isScanned ? {} : { reason: NOT_SCANNED };
  const convert = (raw: number) => numberOf(record, raw, factors);
  const value = convert(reading.raw);
  const limits = thresholds && namedThresholds(thresholds, convert);
  if (record.eventType === THRESHOLD_EVENT) {
    if (value === undefined) return without("not read");
    const health = thresholdHealth(reading, thresholds) ?? healthOf(value, limits ?? {});
    return { ...described, value, health, ...defined({ unit, thresholds: limits }), ...doubt };
  }
  return {
    ...doubt,
    ...described,
    ...statesOf(record, reading),
    ...(unit === undefined ? {} : defined({ value, unit })),
  };
}

function stateOfRefusal({ command, completionCode, level }: Answer): [SensorState, string?] {
  if (completionCode === NOT_PRESENT) return ["absent"];
  if (completionCode === NOT_IN_PRESENT_STATE) return ["unavailable"];
  return ["not read", completionError(command, completionCode, level).message];
}

/** The value in the sensor's unit; undefined if only the vendor knows the formula. */
export function numberOf(
  { analog }: Pick<SensorRecord, "analog">,
  raw: number,
  factors?: ReadonlyMap<number, Factors>,
): number | undefined {
  if (!analog) return undefined;
  const own = factors ? factors.get(raw) : analog.factors;
  return own && convertReading(raw, analog.format, analog.linearisation, own);
}

function namedThresholds(
  { readable, raw }: RawThresholds,
  convert: (raw: number) => number | undefined,
): SensorThresholds | undefined {
  const named = THRESHOLD_NAMES.flatMap((name, index) => {
    const value = (readable >> index) & 1 ? convert(raw[index] ?? 0) : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

const ALL_THRESHOLDS = 0x3f;
const WARNINGS = 0b001001;

function thresholdHealth(
  { status }: RawReading,
  thresholds: RawThresholds | undefined,
): SensorHealth | undefined {
  if (status === undefined) return undefined;
  // BMCs set bits of thresholds that the sensor does not have.
  const exceeded = status & (thresholds?.readable || ALL_THRESHOLDS);
  if ((exceeded & ~WARNINGS) !== 0) return "critical";
  return exceeded === 0 ? "ok" : "warning";
}

const OFFSETS = Array.from({ length: 15 }, (_, offset) => offset);

function statesOf(
  { eventType, sensorType }: SensorRecord,
  { status }: RawReading,
): Pick<SensorReading, "health" | "events" | "state"> {
  if (status === undefined) return { health: "unknown", state: "unavailable" };
  const offsets = OFFSETS.filter((offset) => (status >> offset) & 1);
  const isSpecific = eventType === SENSOR_SPECIFIC_EVENT;
  if (isSpecific && offsets.includes(ABSENCE[sensorType] ?? -1))
    return { health: "unknown", state: "absent" };
  const meaningOf = (offset: number) =>
    isSpecific ? sensorEvent(sensorType, offset) : genericEvent(eventType, offset);
  // BMCs set bits that the sensor's type does not have. These mean nothing.
  const isKnownType = OFFSETS.some((offset) => meaningOf(offset) !== undefined);
  const meanings = offsets.flatMap((offset) => meaningOf(offset) ?? (isKnownType ? [] : `state ${offset}`));
  return {
    health: worst(meanings),
    events: meanings.map((meaning) => (typeof meaning === "string" ? meaning : meaning.text)),
  };
}

/** The worst severity. States defined by the vendor have no known severity. */
function worst(meanings: readonly (EventMeaning | string)[]): SensorHealth {
  const severities = meanings.flatMap((meaning) => (typeof meaning === "string" ? [] : [meaning.severity]));
  if (severities.includes("critical")) return "critical";
  if (severities.includes("warning")) return "warning";
  return severities.length < meanings.length ? "unknown" : "ok";
}
