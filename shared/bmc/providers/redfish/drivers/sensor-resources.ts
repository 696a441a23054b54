import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import {
  healthOf,
  type SensorHealth,
  type SensorKind,
  type SensorReading,
  type SensorState,
  type SensorThresholds,
} from "../../../operations/sensors.ts";
import { Link, lenient } from "../service/schema.ts";

const Text = lenient(z.string());
/** Some BMCs send numbers as text. */
const NumberText = z.pipe(
  z.string().check(z.regex(/^\s*-?\d+(\.\d+)?\s*$/)),
  z.transform((text) => Number(text)),
);
const Amount = lenient(z.union([z.number(), NumberText]));
const Status = lenient(z.object({ State: Text, Health: Text }));
/** A list whose unreadable entries become empty. */
const list = <T extends z.ZodMiniObject>(schema: T) =>
  z.catch(z.array(z.catch(z.nullable(schema), null)), []);

const Threshold = lenient(z.object({ Reading: Amount }));

/** Sensor (DSP0268, since 2018). */
export const Sensor = z.object({
  Id: Text,
  Name: Text,
  Reading: Amount,
  ReadingType: Text,
  ReadingUnits: Text,
  PhysicalContext: Text,
  Status,
  Thresholds: lenient(
    z.object({
      LowerCaution: Threshold,
      LowerCritical: Threshold,
      LowerFatal: Threshold,
      UpperCaution: Threshold,
      UpperCritical: Threshold,
      UpperFatal: Threshold,
    }),
  ),
});

const older = {
  Name: Text,
  MemberId: Text,
  PhysicalContext: Text,
  Status,
  LowerThresholdNonCritical: Amount,
  LowerThresholdCritical: Amount,
  LowerThresholdFatal: Amount,
  UpperThresholdNonCritical: Amount,
  UpperThresholdCritical: Amount,
  UpperThresholdFatal: Amount,
};
const Older = z.object(older);

/** Thermal (DSP0268), which is deprecated but still the most common. iLO 4 has names and readings of fans in other fields. */
export const Thermal = z.object({
  Temperatures: list(z.object({ ...older, ReadingCelsius: Amount })),
  Fans: list(
    z.object({
      ...older,
      FanName: Text,
      Reading: Amount,
      CurrentReading: Amount,
      ReadingUnits: Text,
      Units: Text,
    }),
  ),
});

/** Power (DSP0268), which is deprecated but still the most common. */
export const Power = z.object({
  Voltages: list(z.object({ ...older, ReadingVolts: Amount })),
  PowerControl: list(z.object({ ...older, PowerConsumedWatts: Amount })),
  PowerSupplies: list(
    z.object({ ...older, PowerInputWatts: Amount, PowerOutputWatts: Amount, LastPowerOutputWatts: Amount }),
  ),
});

/** Fan and PowerSupply (DSP0268) below ThermalSubsystem and PowerSubsystem. */
export const Part = z.object({
  Id: Text,
  Name: Text,
  PhysicalContext: Text,
  Status,
  SpeedPercent: lenient(z.object({ Reading: Amount, SpeedRPM: Amount })),
});

export const ThermalSubsystem = z.object({ Fans: lenient(Link) });
export const PowerSubsystem = z.object({ PowerSupplies: lenient(Link) });

/** UCUM codes (DSP0268) as people write them; others are not changed. */
const UNITS: Readonly<Record<string, string>> = {
  Cel: "°C",
  "[degF]": "°F",
  "{rev}/min": "RPM",
  Percent: "%",
  "kW.h": "kWh",
  "[ft_i]3/min": "CFM",
  "[cft_i]/min": "CFM",
};

const KINDS: Readonly<Record<string, SensorKind>> = {
  Temperature: "temperature",
  Rotational: "fan",
  AirFlow: "fan",
  Voltage: "voltage",
  Current: "current",
  Power: "power",
};
const KIND_OF_UNIT: Readonly<Record<string, SensorKind>> = {
  "°C": "temperature",
  RPM: "fan",
  V: "voltage",
  A: "current",
  W: "power",
};

export function fromSensor(path: string, value: z.infer<typeof Sensor>): SensorReading {
  const unit = unitOf(value.ReadingUnits);
  const isFan = value.PhysicalContext === "Fan" && unit === "%";
  const kind = isFan ? "fan" : (KINDS[value.ReadingType ?? ""] ?? KIND_OF_UNIT[unit ?? ""] ?? "other");
  const { Thresholds: limits } = value;
  const thresholds = someOf({
    lowerFatal: limits?.LowerFatal?.Reading,
    lowerCritical: limits?.LowerCritical?.Reading,
    lowerWarning: limits?.LowerCaution?.Reading,
    upperWarning: limits?.UpperCaution?.Reading,
    upperCritical: limits?.UpperCritical?.Reading,
    upperFatal: limits?.UpperFatal?.Reading,
  });
  const name = textOf(value.Name) ?? textOf(value.Id) ?? lastPart(path);
  return reading({ ...value, name, kind, value: value.Reading, unit, thresholds });
}

export function fromThermal({ Temperatures, Fans }: z.infer<typeof Thermal>): readonly SensorReading[] {
  return [
    ...each(Temperatures, (one) => fromOlder(one, "temperature", one.ReadingCelsius, "°C")),
    ...each(Fans, (one) => {
      const named = { ...one, Name: textOf(one.Name) ?? one.FanName };
      const unit = unitOf(one.ReadingUnits ?? one.Units) ?? "RPM";
      return fromOlder(named, "fan", one.Reading ?? one.CurrentReading, unit);
    }),
  ];
}

export function fromPower({
  Voltages,
  PowerControl,
  PowerSupplies,
}: z.infer<typeof Power>): readonly SensorReading[] {
  return [
    ...each(Voltages, (one) => fromOlder(one, "voltage", one.ReadingVolts, "V")),
    ...each(PowerControl, (one) => fromOlder(one, "power", one.PowerConsumedWatts, "W")),
    ...each(PowerSupplies, (one) => {
      const watts = one.PowerInputWatts ?? one.PowerOutputWatts ?? one.LastPowerOutputWatts;
      return fromOlder(one, "power", watts, "W");
    }),
  ];
}

/** A fan or a power supply. Its health counts; only fans report a speed. */
export function fromPart(path: string, value: z.infer<typeof Part>, kind: "fan" | "power"): SensorReading {
  const { SpeedRPM, Reading } = value.SpeedPercent ?? {};
  const name = textOf(value.Name) ?? textOf(value.Id) ?? lastPart(path);
  const unit = SpeedRPM === undefined ? "%" : "RPM";
  return reading({ ...value, name, kind, value: SpeedRPM ?? Reading, unit, thresholds: undefined });
}

function fromOlder(
  entry: z.infer<typeof Older>,
  kind: SensorKind,
  value: number | undefined,
  unit: string,
): SensorReading {
  const thresholds = someOf({
    lowerFatal: entry.LowerThresholdFatal,
    lowerCritical: entry.LowerThresholdCritical,
    lowerWarning: entry.LowerThresholdNonCritical,
    upperWarning: entry.UpperThresholdNonCritical,
    upperCritical: entry.UpperThresholdCritical,
    upperFatal: entry.UpperThresholdFatal,
  });
  const name = textOf(entry.Name) ?? textOf(entry.MemberId) ?? kind;
  return reading({ ...entry, name, kind, value, unit, thresholds });
}

interface Found {
  readonly name: string;
  readonly kind: SensorKind;
  readonly value: number | undefined;
  readonly unit: string | undefined;
  readonly thresholds: SensorThresholds | undefined;
  readonly Status?: z.infer<typeof Status>;
  readonly PhysicalContext?: string | undefined;
}

const HEALTHS: Readonly<Record<string, SensorHealth>> = {
  OK: "ok",
  Warning: "warning",
  Critical: "critical",
};
const STATES: Readonly<Record<string, SensorState>> = {
  Absent: "absent",
  Disabled: "disabled",
  UnavailableOffline: "unavailable",
};

function reading({ name, kind, value, unit, thresholds, Status, PhysicalContext }: Found): SensorReading {
  const described = { name, kind, ...defined({ entity: textOf(PhysicalContext) }) };
  const reported = HEALTHS[Status?.Health ?? ""];
  const state = STATES[Status?.State ?? ""];
  if (state !== undefined) return { ...described, health: "unknown", state };
  if (value === undefined) {
    // A part without a number still has a health.
    if (reported === undefined) return { ...described, health: "unknown", state: "unavailable" };
    return { ...described, health: reported, events: [Status?.State ?? "Enabled"] };
  }
  const health = reported ?? healthOf(value, thresholds ?? {});
  return { ...described, value, health, ...defined({ unit, thresholds }) };
}

function each<T>(
  entries: readonly (T | null)[],
  read: (entry: T) => SensorReading,
): readonly SensorReading[] {
  return entries.flatMap((entry) => (entry === null ? [] : [read(entry)]));
}

/** The limits that a sensor has. BMCs send 0 for a missing limit; only together with negative limits it may be meant. */
function someOf(limits: { readonly [Name in keyof SensorThresholds]: number | undefined }) {
  const isMeant = Object.values(limits).some((limit) => limit !== undefined && limit < 0);
  const meant = Object.entries(limits).filter(([, limit]) => limit !== 0 || isMeant);
  const found: SensorThresholds = defined(Object.fromEntries(meant));
  return Object.keys(found).length === 0 ? undefined : found;
}

function unitOf(code: string | undefined): string | undefined {
  const unit = textOf(code);
  return unit === undefined ? undefined : (UNITS[unit] ?? unit);
}

function textOf(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
