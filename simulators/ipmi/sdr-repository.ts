import type { SimulatedMachine } from "../machine.ts";
import type { Reply } from "./reply.ts";
import { exceededBy, fullRecord, rawOf, redundancyRecord, thresholdsOf } from "./sdr-record.ts";

export interface SdrOptions {
  /** Records that replace those of the machine's sensors. The repository sets their IDs, unless `keepsIds`. */
  readonly records?: readonly Buffer[];
  readonly keepsIds?: boolean;
  /** The largest part of a record in one answer. */
  readonly partBytes: number;
  /** Whether there is a repository. */
  readonly present: boolean;
  /** Answers to Get Sensor Reading by sensor number, which replace the machine's. */
  readonly readings?: Readonly<Record<number, Buffer>>;
  /** Answers to Get Sensor Thresholds by sensor number. */
  readonly thresholds?: Readonly<Record<number, Buffer>>;
  /** Answers Get Sensor Reading Factors. */
  readonly factors?: (sensor: number, raw: number) => Buffer;
}

const END = 0xffff;
const NOT_PRESENT = 0xcb;
const RESERVATION_CANCELLED = 0xc5;
const WRONG_LENGTH = 0xc7;
const INVALID_COMMAND = 0xc1;
const FULLY_REDUNDANT = Buffer.from([0, 0xc0, 0x01, 0x80]);

/** The sensor data records and the sensors that they describe (IPMI 2.0 sections 33 and 35). */
export class SimulatedSdr {
  readonly #machine: SimulatedMachine;
  readonly #options: SdrOptions;
  readonly #records: Buffer[];
  #reservation = 0;
  #additions = 0;

  constructor(machine: SimulatedMachine, options: SdrOptions) {
    this.#machine = machine;
    this.#options = options;
    const { sensors } = machine;
    const own = [
      ...sensors.map((sensor, index) => fullRecord(sensor, index + 1)),
      redundancyRecord(sensors.length + 1),
    ];
    this.#records = options.keepsIds ? [...(options.records ?? [])] : [];
    if (!options.keepsIds) for (const record of options.records ?? own) this.#append(record);
  }

  /** Inserts a record at the start, which changes the IDs of the others and cancels the reservation. */
  insert(record: Buffer): void {
    const all = [record, ...this.#records.splice(0)];
    for (const one of all) this.#append(one);
    this.#additions += 1;
    this.#reservation = 0;
  }

  /** Cancels the reservation, as if another client had reserved the repository. */
  cancelReservation(): void {
    this.#reservation = 0;
  }

  info(): Reply {
    if (!this.#options.present) return { code: INVALID_COMMAND };
    const data = Buffer.alloc(14);
    data[0] = 0x51;
    data.writeUInt16LE(this.#records.length, 1);
    data.writeUInt32LE(this.#additions, 5);
    data[13] = 0x02;
    return { data };
  }

  reserve(): Reply {
    if (!this.#options.present) return { code: INVALID_COMMAND };
    this.#reservation = (this.#reservation % 0xfffe) + 1;
    return { data: Buffer.from([this.#reservation & 0xff, this.#reservation >> 8]) };
  }

  get(data: Buffer): Reply {
    if (!this.#options.present) return { code: INVALID_COMMAND };
    if (data.length !== 6) return { code: WRONG_LENGTH };
    const id = data.readUInt16LE(2);
    const index = id === 0 ? 0 : this.#records.findIndex((record) => record.readUInt16LE(0) === id);
    const record = this.#records[index];
    if (!record) return { code: NOT_PRESENT };
    const offset = data.readUInt8(4);
    const wanted = data.readUInt8(5);
    const bytes = wanted === 0xff ? record.length - offset : wanted;
    if (bytes > this.#options.partBytes) return { code: 0xca };
    if (offset + bytes > record.length) return { code: 0xc9 };
    if (offset > 0 && data.readUInt16LE(0) !== this.#reservation) return { code: RESERVATION_CANCELLED };
    const next = this.#records[index + 1]?.readUInt16LE(0) ?? END;
    return {
      data: Buffer.concat([Buffer.from([next & 0xff, next >> 8]), record.subarray(offset, offset + bytes)]),
    };
  }

  reading(data: Buffer): Reply {
    const number = data[0] ?? 0;
    const given = this.#options.readings?.[number];
    if (given) return { data: given };
    const { sensors } = this.#machine;
    if (number === sensors.length + 1) return { data: FULLY_REDUNDANT };
    const sensor = sensors[number - 1];
    if (!sensor || sensor.state === "absent") return { code: NOT_PRESENT };
    const flags = sensor.state === "disabled" ? 0x80 : 0xc0;
    return { data: Buffer.from([rawOf(sensor, sensor.value), flags, 0xc0 | exceededBy(sensor)]) };
  }

  thresholds(data: Buffer): Reply {
    const given = this.#options.thresholds?.[data[0] ?? 0];
    if (given) return { data: given };
    const sensor = this.#machine.sensors[(data[0] ?? 0) - 1];
    return sensor && this.#options.records === undefined
      ? { data: thresholdsOf(sensor) }
      : { code: NOT_PRESENT };
  }

  factors(data: Buffer): Reply {
    const given = this.#options.factors?.(data[0] ?? 0, data[1] ?? 0);
    return given ? { data: given } : { code: INVALID_COMMAND };
  }

  #append(record: Buffer): void {
    const kept = Buffer.from(record);
    kept.writeUInt16LE(this.#records.length * 2 + 1, 0);
    this.#records.push(kept);
  }
}
