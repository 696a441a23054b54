import { BmcError } from "../../../contract/bmc-error.ts";
import { concernsOnePart, type Unread } from "../../operations/unread.ts";
import { type CommandChannel, dataOf, exchange } from "./channel.ts";
import {
  CANNOT_RETURN_SO_MANY,
  COMPLETED,
  INVALID_COMMAND,
  INVALID_FIELD,
  NOT_PRESENT,
  OUT_OF_RANGE,
  REQUEST_TOO_LONG,
  RESERVATION_CANCELLED,
  WRONG_LENGTH,
} from "./completion-code.ts";
import {
  DEVICE_RECORDS,
  parseSdrPart,
  parseSdrReservation,
  REPOSITORY,
  SDR_HEADER_BYTES,
  type SdrPart,
  type SdrStore,
  sdrLength,
} from "./sdr-commands.ts";
import { FIRST_RECORD, NO_RECORD, NO_RESERVATION } from "./sel-commands.ts";
import { parseSensorRecord, type SensorRecord } from "./sensor-record.ts";

/** The largest known repositories, of blade chassis, have some 500 records. */
const MOST_RECORDS = 1_024;
/** How often other clients may cancel the reservation. */
const MOST_LOSSES = 16;
/** A record is read as often before it counts as unreadable: some BMCs answer junk now and then. */
const TRIES = 2;
/** Behind a record that names no next one, as many IDs are tried: most repositories number their records. */
const MOST_SKIPPED = 4;
const LARGEST_PART_BYTES = 32;
const SMALLEST_PART_BYTES = 8;
/** What BMCs answer to a read that is larger than they can give. */
const TOO_MUCH = new Set([
  WRONG_LENGTH,
  REQUEST_TOO_LONG,
  OUT_OF_RANGE,
  CANNOT_RETURN_SO_MANY,
  INVALID_FIELD,
  0xff,
]);

/** In this order. */
const STORES: readonly SdrStore[] = [REPOSITORY, DEVICE_RECORDS];

interface Opened {
  readonly store: SdrStore;
  /** Changes when records do. */
  readonly version: string;
}

/** The sensors in a BMC's sensor data records, read once per session: one round trip per record, or a few. */
export class SdrRepository {
  readonly #channel: CommandChannel;
  #sensors: SensorRecord[] = [];
  #seen = new Set<number>();
  #next = FIRST_RECORD;
  #opened: Opened | undefined;
  #reservation: number | undefined;
  #losses = 0;
  #gaps: Unread[] = [];
  #first: SdrStore = REPOSITORY;
  /** Undefined as long as the BMC gives whole records. */
  #partBytes: number | undefined;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** Records that could not be read. */
  get gaps(): readonly Unread[] {
    return this.#gaps;
  }

  /** Reads until `isEnough`, or all. Throws `unsupported` where the BMC has no records. */
  async read(
    signal: AbortSignal,
    isEnough: (sensors: readonly SensorRecord[]) => boolean = () => false,
  ): Promise<readonly SensorRecord[]> {
    while (this.#next !== NO_RECORD && this.#seen.size < MOST_RECORDS && !isEnough(this.#sensors)) {
      this.#opened ??= await this.open(signal);
      await this.#readNext(this.#opened, signal);
    }
    return this.#sensors;
  }

  /** Finds out where the records are. Throws `unsupported` where the BMC has none. */
  async open(signal: AbortSignal): Promise<Opened> {
    for (const store of STORES.slice(STORES.indexOf(this.#first))) {
      const info = await exchange(this.#channel, store.info, signal);
      if (info.completionCode === INVALID_COMMAND) continue;
      const version = dataOf(info);
      if (store === REPOSITORY && version.length >= 3 && version.readUInt16LE(1) === 0) continue;
      return { store, version: version.toString("hex") };
    }
    throw new BmcError("unsupported", "the BMC has no sensor data records");
  }

  async #readNext(opened: Opened, signal: AbortSignal): Promise<void> {
    const id = this.#next;
    let problem: BmcError | undefined;
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      try {
        const record = await this.#readRecord(opened.store, id, signal);
        if (record === "lost") return await this.#reopen(opened, signal);
        if (record && this.#leadsBack(id, record)) {
          throw new BmcError("protocol", `the sensor data record ${id} comes after itself`);
        }
        this.#seen.add(id);
        if (record) this.#sensors.push(...parseSensorRecord(record.bytes));
        this.#next = record?.next ?? NO_RECORD;
        return;
      } catch (thrown) {
        problem = concernsOnePart(thrown);
      }
    }
    if (!problem) return;
    const isFirst = this.#seen.size === 0;
    if (isFirst && problem.class === "unsupported" && opened.store === REPOSITORY) {
      // Some controllers count the records of a repository that they do not give.
      this.#first = DEVICE_RECORDS;
      this.#opened = undefined;
      return;
    }
    const next =
      isFirst && problem.class === "unsupported" ? NO_RECORD : await this.#after(opened.store, id, signal);
    if (isFirst && next === NO_RECORD) throw problem;
    this.#gaps.push({ name: `sensor data record ${id}`, reason: problem.message });
    this.#seen.add(id);
    this.#next = next;
  }

  /** Records that lead back would never end, and a record with another ID is not the one that was asked for. */
  #leadsBack(id: number, { next, bytes }: { readonly next: number; readonly bytes: Buffer }): boolean {
    const isOther = id !== FIRST_RECORD && bytes.readUInt16LE(0) !== id;
    return (
      next !== NO_RECORD && (next === id || (isOther ? next === FIRST_RECORD : false) || this.#seen.has(next))
    );
  }

  /** The ID of the next record that can be read behind one that cannot. */
  async #after(store: SdrStore, id: number, signal: AbortSignal): Promise<number> {
    for (let next = id + 1; next <= id + MOST_SKIPPED && next < NO_RECORD; next += 1) {
      if (this.#seen.has(next)) continue;
      const probe = {
        reservation: this.#reservation ?? NO_RESERVATION,
        id: next,
        offset: 0,
        bytes: SDR_HEADER_BYTES,
      };
      const answer = await exchange(this.#channel, store.get(probe), signal);
      if (answer.completionCode === COMPLETED) return next;
    }
    return NO_RECORD;
  }

  /** After a reservation was lost. Only if records have changed may their IDs have, too (section 33.11). */
  async #reopen(lost: Opened, signal: AbortSignal): Promise<void> {
    this.#losses += 1;
    if (this.#losses > MOST_LOSSES) {
      throw new BmcError("busy", "other clients keep cancelling the reservation of the sensor data records");
    }
    this.#reservation = undefined;
    this.#opened = await this.open(signal);
    if (this.#opened.version === lost.version) return;
    this.#sensors = [];
    this.#gaps = [];
    this.#seen.clear();
    this.#next = FIRST_RECORD;
  }

  /** Undefined where there is no such record. */
  async #readRecord(
    store: SdrStore,
    id: number,
    signal: AbortSignal,
  ): Promise<{ readonly next: number; readonly bytes: Buffer } | "lost" | undefined> {
    let bytes = Buffer.alloc(0);
    for (;;) {
      const part = this.#nextPart(bytes);
      // Whole records need no reservation, and one would cancel that of another client.
      if (part.bytes !== undefined || this.#losses > 0)
        this.#reservation ??= await this.#reserve(store, signal);
      const reservation = this.#reservation ?? NO_RESERVATION;
      const answer = await exchange(this.#channel, store.get({ reservation, id, ...part }), signal);
      if (answer.completionCode === RESERVATION_CANCELLED) return "lost";
      if (answer.completionCode === NOT_PRESENT && bytes.length === 0) return undefined;
      if (TOO_MUCH.has(answer.completionCode) && this.#shrink()) continue;
      const found = parseSdrPart(dataOf(answer));
      bytes = Buffer.concat([bytes, found.bytes]);
      if (bytes.length < SDR_HEADER_BYTES || bytes.length < sdrLength(bytes)) continue;
      return { next: found.next, bytes: bytes.subarray(0, sdrLength(bytes)) };
    }
  }

  async #reserve(store: SdrStore, signal: AbortSignal): Promise<number> {
    const answer = await exchange(this.#channel, store.reserve, signal);
    if ([INVALID_COMMAND, INVALID_FIELD].includes(answer.completionCode)) return NO_RESERVATION;
    return parseSdrReservation(dataOf(answer));
  }

  /** Past a record's end some BMCs refuse to read, so the header, which has the length, comes first. */
  #nextPart(bytes: Buffer): Pick<SdrPart, "offset" | "bytes"> {
    if (this.#partBytes === undefined && bytes.length === 0) return { offset: 0 };
    const end = bytes.length < SDR_HEADER_BYTES ? SDR_HEADER_BYTES : sdrLength(bytes);
    const left = end - bytes.length;
    return { offset: bytes.length, bytes: Math.min(left, this.#partBytes ?? LARGEST_PART_BYTES) };
  }

  /** False if the parts are as small as can be. */
  #shrink(): boolean {
    const now = this.#partBytes;
    if (now !== undefined && now <= SMALLEST_PART_BYTES) return false;
    this.#partBytes = now === undefined ? LARGEST_PART_BYTES : now / 2;
    return true;
  }
}
