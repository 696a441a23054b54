import { defined } from "../../../../defined.ts";
import type { SelEntry } from "../../../operations/sel.ts";
import { restartCause } from "../commands/chassis.ts";
import { vendorOf } from "../commands/device-id.ts";
import { numberOf } from "./describe-sensor.ts";
import type { OemRecord, SelRecord, SystemEvent } from "./sel-record.ts";
import { isNonLinear } from "./sensor-conversion.ts";
import {
  type EventMeaning,
  FIRMWARE_ERRORS,
  FIRMWARE_PROGRESS,
  genericEvent,
  SENSOR_SPECIFIC_EVENT,
  type Severity,
  sensorEvent,
  sensorName,
  THRESHOLD_EVENT,
} from "./sensor-events.ts";
import type { SensorRecord } from "./sensor-record.ts";
import { unitText } from "./sensor-units.ts";

/**
 * Describes a record for people, such as `memory sensor 0x21: uncorrectable ECC error (module 3)`. The end of a condition is
 * never a problem. The sensor's data record adds its name and converts raw numbers. If the BMC did not know the date yet,
 * the time is part of the message.
 */
export function describeRecord(record: SelRecord, sensor?: SensorRecord): SelEntry {
  const { id, time } = record;
  const described: DescribedEvent =
    record.kind === "system" ? describeEvent(record, sensor) : { text: describeOem(record) };
  const early = time.kind === "since-start" ? ` (${time.seconds} s after the BMC started)` : "";
  return {
    id: String(id),
    ...defined({
      at: time.kind === "since-epoch" ? new Date(time.ms).toISOString() : undefined,
      severity: described.severity,
    }),
    message: `${described.text}${early}`,
  };
}

interface DescribedEvent {
  readonly text: string;
  readonly severity?: Severity;
}

function describeEvent(event: SystemEvent, record: SensorRecord | undefined): DescribedEvent {
  const { sensorType, sensor, asserted } = event;
  const name = sensorName(sensorType) ?? `sensor type ${hex(sensorType)}`;
  const where = `${name} sensor ${record?.name ?? hex(sensor)}`;
  const meaning = meaningOf(event);
  const details = detailsOf(event, record);
  const ended = asserted ? "" : ", ended";
  const remark = details.length > 0 ? ` (${details.join(", ")})` : "";
  if (!meaning) {
    return {
      text: `${where}: event type ${hex(event.eventType)} offset ${offsetOf(event)}${ended}${remark}`,
    };
  }
  return { text: `${where}: ${meaning.text}${ended}${remark}`, severity: asserted ? meaning.severity : "ok" };
}

function meaningOf(event: SystemEvent): EventMeaning | undefined {
  const { eventType, sensorType } = event;
  const offset = offsetOf(event);
  return eventType === SENSOR_SPECIFIC_EVENT
    ? sensorEvent(sensorType, offset)
    : genericEvent(eventType, offset);
}

function offsetOf({ data }: SystemEvent): number {
  return data[0] & 0x0f;
}

/** Describes event data 2 and 3 by the flags of event data 1 (IPMI 2.0 table 29-6). */
function detailsOf(event: SystemEvent, record: SensorRecord | undefined): string[] {
  const [flags, second, third] = event.data;
  const specific = event.eventType === SENSOR_SPECIFIC_EVENT;
  const has2 = (flags & 0xc0) !== 0;
  const has3 = (flags & 0x30) !== 0;
  if (event.eventType === THRESHOLD_EVENT) {
    return [
      ...(has2 ? [amount("reading", second, record)] : []),
      ...(has3 ? [amount("threshold", third, record)] : []),
    ];
  }
  if (specific && event.sensorType === MEMORY && (flags & 0x30) === EXTENSION_IN_3) {
    return [...(has2 ? [`data 2 ${hex(second)}`] : []), `module ${third}`];
  }
  if (specific && event.sensorType === FIRMWARE && (flags & 0xc0) === EXTENSION_IN_2) {
    const texts = offsetOf(event) === 0 ? FIRMWARE_ERRORS : FIRMWARE_PROGRESS;
    return [texts[second] ?? `code ${hex(second)}`, ...(has3 ? [`data 3 ${hex(third)}`] : [])];
  }
  const known = specific && (flags & 0xc0) === EXTENSION_IN_2 ? extension(event) : undefined;
  return [...(has2 ? [known ?? `data 2 ${hex(second)}`] : []), ...(has3 ? [`data 3 ${hex(third)}`] : [])];
}

/** Describes event data 2 of a restart or a watchdog. */
function extension(event: SystemEvent): string | undefined {
  const [, second] = event.data;
  if (event.sensorType === WATCHDOG_2) return WATCHDOG_USES[second & 0x0f];
  return event.sensorType === RESTART && offsetOf(event) === RESTART_WITH_CAUSE
    ? restartCause(second)
    : undefined;
}

/** A number with its unit; the raw value without the sensor's data record, and if the record has no formula. */
function amount(what: string, raw: number, record: SensorRecord | undefined): string {
  const analog = record?.analog;
  const value = analog && !isNonLinear(analog.linearisation) ? numberOf(record, raw) : undefined;
  if (value === undefined) return `raw ${what} ${hex(raw)}`;
  const unit = record?.units && unitText(record.units);
  return `${what} ${value}${unit === undefined ? "" : ` ${unit}`}`;
}

const MEMORY = 0x0c;
const FIRMWARE = 0x0f;
const RESTART = 0x1d;
const RESTART_WITH_CAUSE = 0x07;
const WATCHDOG_2 = 0x23;
/** Uses of the watchdog timer by code. */
const WATCHDOG_USES: Readonly<Record<number, string>> = {
  1: "BIOS FRB2 timer",
  2: "POST timer",
  3: "OS load timer",
  4: "OS timer",
  5: "OEM timer",
};
/** Flags in event data 1 for sensor-specific event extension codes. */
const EXTENSION_IN_2 = 0xc0;
const EXTENSION_IN_3 = 0x30;

function describeOem({ type, manufacturer, data }: OemRecord): string {
  const maker = manufacturer === undefined ? "" : ` of ${vendorOf(manufacturer)}`;
  return `record type ${hex(type)}${maker}: ${data.toString("hex").replace(/..(?=.)/g, "$& ")}`;
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}
