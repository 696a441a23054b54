import { BmcError } from "../../../../contract/bmc-error.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";
import { type Factors, parseFactors } from "./sensor-conversion.ts";

/** Get Sensor Reading (IPMI 2.0 section 35.14). */
export function getSensorReading(sensor: number): Command {
  return ipmiCommand("Get Sensor Reading", NetFn.sensor, 0x2d, {
    data: Uint8Array.of(sensor),
    ofPart: true,
  });
}

export interface RawReading {
  readonly raw: number;
  readonly isScanned: boolean;
  readonly isAvailable: boolean;
  /** Exceeded thresholds or asserted states, one bit each; undefined if the BMC does not say. */
  readonly status: number | undefined;
}

export function parseSensorReading(data: Buffer): RawReading {
  if (data.length < 2)
    throw new BmcError("protocol", "Get Sensor Reading: the answer is shorter than 2 bytes");
  const flags = data.readUInt8(1);
  const status = data.length > 2 ? data.readUInt8(2) | (((data[3] ?? 0) & 0x7f) << 8) : undefined;
  return {
    raw: data.readUInt8(0),
    isScanned: (flags & 0x40) !== 0,
    isAvailable: (flags & 0x20) === 0,
    status,
  };
}

/** Get Sensor Thresholds (section 35.9). */
export function getSensorThresholds(sensor: number): Command {
  return ipmiCommand("Get Sensor Thresholds", NetFn.sensor, 0x27, {
    data: Uint8Array.of(sensor),
    ofPart: true,
  });
}

/** Thresholds in their order in the answer, in masks and in the status of a reading. */
export const THRESHOLD_NAMES = [
  "lowerWarning",
  "lowerCritical",
  "lowerFatal",
  "upperWarning",
  "upperCritical",
  "upperFatal",
] as const;

export interface RawThresholds {
  /** One bit per readable threshold, in the order of `THRESHOLD_NAMES`. */
  readonly readable: number;
  readonly raw: Buffer;
}

export function parseSensorThresholds(data: Buffer): RawThresholds {
  if (data.length < 7) {
    throw new BmcError("protocol", "Get Sensor Thresholds: the answer is shorter than 7 bytes");
  }
  return { readable: data.readUInt8(0) & 0x3f, raw: data.subarray(1, 7) };
}

/** Get Sensor Reading Factors (section 35.5), for one reading of a non-linear sensor. */
export function getReadingFactors(sensor: number, raw: number): Command {
  return ipmiCommand("Get Sensor Reading Factors", NetFn.sensor, 0x23, { data: Uint8Array.of(sensor, raw) });
}

export function parseReadingFactors(data: Buffer): Factors {
  if (data.length < 7) {
    throw new BmcError("protocol", "Get Sensor Reading Factors: the answer is shorter than 7 bytes");
  }
  return parseFactors(data.subarray(1));
}
