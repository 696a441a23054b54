import type { SimulatedSensor } from "../sensors.ts";

/** The encoding of each kind: sensor type, unit, format (bits 7:6), M, and R exponent. */
const KINDS = {
  temperature: { type: 0x01, unit: 1, format: 0x80, m: 1, exponent: 0 },
  fan: { type: 0x04, unit: 18, format: 0, m: 50, exponent: 0 },
  voltage: { type: 0x02, unit: 4, format: 0, m: 63, exponent: -3 },
  power: { type: 0x0b, unit: 6, format: 0, m: 4, exponent: 0 },
} as const;

/** The thresholds in the order of the mask and of Get Sensor Thresholds. */
const THRESHOLDS = [
  "lowerWarning",
  "lowerCritical",
  undefined,
  "upperWarning",
  "upperCritical",
  undefined,
] as const;

export function rawOf({ kind }: SimulatedSensor, value: number): number {
  const { m, exponent } = KINDS[kind];
  return Math.round(value / (m * 10 ** exponent)) & 0xff;
}

/** Returns the mask and the six raw thresholds (IPMI 2.0 section 35.9). */
export function thresholdsOf(sensor: SimulatedSensor): Buffer {
  const data = Buffer.alloc(7);
  THRESHOLDS.forEach((name, index) => {
    const value = name && sensor[name];
    if (value === undefined) return;
    data.writeUInt8(data.readUInt8(0) | (1 << index), 0);
    data.writeUInt8(rawOf(sensor, value), index + 1);
  });
  return data;
}

/** Returns the thresholds that the value exceeds, in the form of Get Sensor Reading. */
export function exceededBy(sensor: SimulatedSensor): number {
  return THRESHOLDS.reduce((bits, name, index) => {
    const limit = name && sensor[name];
    if (limit === undefined) return bits;
    const exceeds = name?.startsWith("lower") ? sensor.value <= limit : sensor.value >= limit;
    return exceeds ? bits | (1 << index) : bits;
  }, 0);
}

/** Makes a Full Sensor Record (section 43.1) of a sensor of the BMC. */
export function fullRecord(sensor: SimulatedSensor, number: number): Buffer {
  const { type, unit, format, m, exponent } = KINDS[sensor.kind];
  const limits = thresholdsOf(sensor);
  const name = Buffer.from(sensor.name, "latin1");
  const record = Buffer.alloc(48 + name.length);
  record.set([0, 0, 0x51, 0x01, record.length - 5, 0x20, 0x00, number, 0x07, 0x01, 0x7f, 0x68, type, 0x01]);
  record.set([limits.readUInt8(0), 0, format, unit, 0, 0], 18);
  record.set([m, 0, 0, 0, 0, (exponent & 0x0f) << 4], 24);
  record.set(limits.subarray(1).reverse(), 36);
  record.writeUInt8(0xc0 | name.length, 47);
  record.set(name, 48);
  return record;
}

/** Makes a Compact Sensor Record (section 43.2) of the power units' redundancy. */
export function redundancyRecord(number: number): Buffer {
  const name = Buffer.from("PS Redundancy", "latin1");
  const record = Buffer.alloc(32 + name.length);
  record.set([0, 0, 0x51, 0x02, record.length - 5, 0x20, 0x00, number, 0x13, 0x01, 0x67, 0x40, 0x08, 0x0b]);
  record.set([0xc0, 0, 0], 20);
  record.writeUInt8(0xc0 | name.length, 31);
  record.set(name, 32);
  return record;
}
