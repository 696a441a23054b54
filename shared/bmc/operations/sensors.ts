import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { defineOperations, type Run } from "./access.ts";
import { describeOffer, type OfferedDriver } from "./finding.ts";

export const SENSOR_KINDS = ["temperature", "fan", "voltage", "current", "power", "other"] as const;
/** What a sensor measures; `other` includes humidity, energy and sensors that have states and no number. */
export type SensorKind = (typeof SENSOR_KINDS)[number];

export const SENSOR_HEALTHS = ["ok", "warning", "critical", "unknown"] as const;
/** The health of a reading according to the BMC or a threshold; `unknown` for a sensor without a reading. */
export type SensorHealth = (typeof SENSOR_HEALTHS)[number];

export const SENSOR_STATES = ["absent", "disabled", "unavailable", "not read"] as const;
/**
 * Why a sensor has no reading: its part is absent, it is disabled, the BMC has no reading now (such as while the machine
 * is off), or it belongs to another controller or cannot be read.
 */
export type SensorState = (typeof SENSOR_STATES)[number];

/** The thresholds of a sensor, in its unit. Thresholds that it does not have are absent. */
export interface SensorThresholds {
  /** Below it the part cannot work or is damaged. */
  readonly lowerFatal?: number;
  /** Below it the health is critical. */
  readonly lowerCritical?: number;
  /** Below it the health is a warning. */
  readonly lowerWarning?: number;
  /** Above it the health is a warning. */
  readonly upperWarning?: number;
  /** Above it the health is critical. */
  readonly upperCritical?: number;
  /** Above it the part cannot work or is damaged. */
  readonly upperFatal?: number;
}

/** One sensor and its reading. */
export interface SensorReading {
  /** The BMC's name for it. */
  readonly name: string;
  /** What it measures. */
  readonly kind: SensorKind;
  /** Absent if the sensor has only states, or no reading. */
  readonly value?: number;
  /** Such as `°C`, `RPM`, `V`, `A`, `W`, `%`; absent if the value has none. */
  readonly unit?: string;
  /** What the BMC, or a threshold, says of it. */
  readonly health: SensorHealth;
  /** Absent if the sensor has none. */
  readonly thresholds?: SensorThresholds;
  /** Why there is no reading; absent for a sensor that has one. */
  readonly state?: SensorState;
  /** Why it could not be read, in one line; absent for every other sensor. */
  readonly reason?: string;
  /** The states that a sensor without a number is in, such as `fully redundant`; absent for others. */
  readonly events?: readonly string[];
  /** The part that it is on, such as `processor 1`; absent if the BMC does not report it. */
  readonly entity?: string;
}

export interface SensorsDriver extends OfferedDriver {
  /** In the order of the BMC. Throws `unsupported` where the BMC has no sensors. */
  read(signal: AbortSignal): Promise<readonly SensorReading[]>;
}

export const sensorOperations = defineOperations({
  title: "sensors",
  methods: (run: Run<{ readonly sensors: SensorsDriver }>) => ({
    /** Reads the sensors: temperatures, fans, voltages, currents, power and others, with thresholds and health. */
    getSensors: (signal: AbortSignal = neverAborted()): Promise<readonly SensorReading[]> =>
      run(signal, ({ read }) => read(({ sensors }) => sensors.read(signal))),
  }),
  // With IPMI, reading all sensors would take a second or more.
  check: async ({ read }, signal) => describeOffer(await read(({ sensors }) => sensors.offered(signal))),
});

/** The most sensors of each health that a summary names. */
const MOST_NAMED = 5;

/** For people: `62 sensors: 61 ok, 1 critical: Fan 3 (0 RPM)`. */
export function describeSensors(readings: readonly SensorReading[]): string {
  if (readings.length === 0) return "no sensors";
  const without = SENSOR_STATES.map(
    (state) => [readings.filter((one) => one.state === state), state] as const,
  );
  const read = readings.filter(({ state }) => state === undefined);
  const of = (health: SensorHealth) => read.filter((one) => one.health === health);
  const parts = [
    ...[[of("ok"), "ok"] as const, [of("unknown"), "of unknown health"] as const, ...without]
      .filter(([some]) => some.length > 0)
      .map(([some, what]) => `${some.length} ${what}`),
    ...namedPart(of("warning"), "warning"),
    ...namedPart(of("critical"), "critical"),
  ];
  return `${count(readings.length, "sensor")}: ${parts.join(", ")}`;
}

function namedPart(some: readonly SensorReading[], what: string): string[] {
  if (some.length === 0) return [];
  const named = some.slice(0, MOST_NAMED).map((one) => `${one.name} (${describeReading(one)})`);
  const more = some.length > MOST_NAMED ? ` and ${some.length - MOST_NAMED} more` : "";
  return [`${some.length} ${what}: ${named.join(", ")}${more}`];
}

/** For people: `41.5 °C`, `0 RPM`, `input lost`, `absent`. */
export function describeReading({ value, unit, events, state }: SensorReading): string {
  if (state !== undefined) return state;
  if (value !== undefined) return [String(value), ...(unit === undefined ? [] : [unit])].join(" ");
  return events && events.length > 0 ? events.join(", ") : "no state asserted";
}

const CRITICAL = ["lowerFatal", "lowerCritical", "upperCritical", "upperFatal"] as const;
const WARNING = ["lowerWarning", "upperWarning"] as const;

/** The health that thresholds give a value; unknown without a threshold. */
export function healthOf(value: number, thresholds: SensorThresholds): SensorHealth {
  const exceeds = (name: keyof SensorThresholds) => {
    const limit = thresholds[name];
    return limit !== undefined && (name.startsWith("lower") ? value <= limit : value >= limit);
  };
  if (CRITICAL.some(exceeds)) return "critical";
  if (WARNING.some(exceeds)) return "warning";
  return Object.values(thresholds).some((limit) => limit !== undefined) ? "ok" : "unknown";
}
