import data from "./sensor-events.json" with { type: "json" };

/** The meaning of an event for the machine while it is asserted. */
export type Severity = "ok" | "warning" | "critical";

export interface EventMeaning {
  readonly text: string;
  readonly severity: Severity;
}

interface SensorData {
  readonly name: string;
  /** Events by offset, such as `warning: general chassis intrusion`. */
  readonly events?: Readonly<Record<string, string>>;
}

export const THRESHOLD_EVENT = 0x01;
export const SENSOR_SPECIFIC_EVENT = 0x6f;

const generic: Readonly<Record<string, Readonly<Record<string, string>>>> = data.generic;
const sensors: Readonly<Record<string, SensorData>> = data.sensors;

/** The meaning of a generic event type and offset (IPMI 2.0 table 42-2). */
export function genericEvent(type: number, offset: number): EventMeaning | undefined {
  return meaningOf(generic[type]?.[offset]);
}

/** The name of a sensor type (table 42-3). */
export function sensorName(type: number): string | undefined {
  return sensors[type]?.name;
}

/** The meaning of a sensor type and offset (table 42-3). */
export function sensorEvent(type: number, offset: number): EventMeaning | undefined {
  return meaningOf(sensors[type]?.events?.[offset]);
}

/** Progress of the system firmware, in event data 2 of sensor type 0x0f, offsets 1 and 2. */
export const FIRMWARE_PROGRESS: readonly string[] = data.firmwareProgress;

/** POST errors, in event data 2 of sensor type 0x0f, offset 0. */
export const FIRMWARE_ERRORS: readonly string[] = data.firmwareErrors;

function meaningOf(entry: string | undefined): EventMeaning | undefined {
  const [, severity, text] = /^(ok|warning|critical): (.*)$/.exec(entry ?? "") ?? [];
  return text === undefined ? undefined : { severity: severity as Severity, text };
}
