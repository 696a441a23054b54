import type { Reply } from "./reply.ts";

export interface EventLogOptions {
  /** The records of 16 bytes. The log sets their IDs, unless `keepsIds`. */
  readonly records: readonly Buffer[];
  readonly keepsIds?: boolean;
  /** The largest part of a record in one answer. The messages of some BMCs are too small for a whole record. */
  readonly partBytes: number;
  readonly erasureMs: number;
  /** Whether the BMC supports Reserve SEL and requires reservations. */
  readonly reservations: boolean;
  /** The effect of clearing. A BMC that logs the clearing then has one record; a BMC that ignores it reports success. */
  readonly clearing: "erases" | "logged" | "ignored";
}

/** An event without a time from event logging sensor 0xf0: log area cleared (IPMI 2.0 table 42-3). */
const LOG_CLEARED = Buffer.from("000002ffffffff20000410f06f02ffff", "hex");
const END = 0xffff;
const NOT_PRESENT = 0xcb;
const RESERVATION_CANCELLED = 0xc5;
const WRONG_LENGTH = 0xc7;

/** The system event log behind Get SEL Info, Reserve SEL, Get SEL Entry and Clear SEL. */
export class EventLog {
  readonly #options: EventLogOptions;
  #records: Buffer[];
  #reservation = 0;
  #erasedAtMs = 0;
  #nextId = 1;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#records = [];
    if (options.keepsIds) {
      this.#records = [...options.records];
      this.#nextId = 1 + Math.max(0, ...this.#records.map((record) => record.readUInt16LE(0)));
    } else for (const record of options.records) this.add(record);
  }

  get size(): number {
    return this.#records.length;
  }

  /** Adds a record, which cancels a reservation of the log. */
  add(record: Buffer): void {
    const kept = Buffer.from(record);
    kept.writeUInt16LE(this.#nextId, 0);
    // IDs need not be consecutive.
    this.#nextId += 3;
    this.#records.push(kept);
    this.#reservation = 0;
  }

  info(): Reply {
    const data = Buffer.alloc(14, 0xff);
    data[0] = 0x51;
    data.writeUInt16LE(this.#records.length, 1);
    data.writeUInt16LE(16 * (512 - this.#records.length), 3);
    data[13] = this.#options.reservations ? 0x02 : 0x00;
    return { data };
  }

  reserve(): Reply {
    if (!this.#options.reservations) return { code: 0xc1 };
    this.#reservation = (this.#reservation % 0xfffe) + 1;
    const data = Buffer.alloc(2);
    data.writeUInt16LE(this.#reservation);
    return { data };
  }

  get(data: Buffer): Reply {
    if (data.length !== 6) return { code: WRONG_LENGTH };
    const id = data.readUInt16LE(2);
    const last = this.#records.length - 1;
    const asked = this.#records.findIndex((record) => record.readUInt16LE(0) === id);
    const index = id === 0 ? 0 : id === END ? last : asked;
    const record = this.#records[index];
    if (!record) return { code: NOT_PRESENT };
    const offset = data.readUInt8(4);
    const wanted = data.readUInt8(5);
    const bytes = wanted === 0xff ? 16 - offset : wanted;
    if (bytes > this.#options.partBytes) return { code: 0xca };
    const whole = offset === 0 && bytes >= 16;
    if (!whole && !this.#holds(data.readUInt16LE(0))) return { code: RESERVATION_CANCELLED };
    const next = this.#records[index + 1]?.readUInt16LE(0) ?? END;
    return {
      data: Buffer.concat([Buffer.from([next & 0xff, next >> 8]), record.subarray(offset, offset + bytes)]),
    };
  }

  clear(data: Buffer): Reply {
    if (data.length !== 6) return { code: WRONG_LENGTH };
    if (data.subarray(2, 5).toString() !== "CLR") return { code: 0xcc };
    if (!this.#holds(data.readUInt16LE(0))) return { code: RESERVATION_CANCELLED };
    if (data[5] === 0xaa) {
      const { clearing } = this.#options;
      if (clearing !== "ignored") this.#records = [];
      if (clearing === "logged") this.add(LOG_CLEARED);
      this.#erasedAtMs = Date.now() + this.#options.erasureMs;
    } else if (data[5] !== 0x00) return { code: 0xcc };
    return { data: Buffer.of(Date.now() >= this.#erasedAtMs ? 1 : 0) };
  }

  #holds(reservation: number): boolean {
    return !this.#options.reservations || (reservation !== 0 && reservation === this.#reservation);
  }
}
