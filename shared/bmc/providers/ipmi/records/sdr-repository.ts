import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Unread } from "../../../operations/unread.ts";
import {
  type Answer,
  type CommandChannel,
  dataOf,
  exchange,
  PartRefusals,
  UnansweredCommand,
} from "../commands/channel.ts";
import type { Command } from "../commands/command.ts";
import {
  COMPLETED,
  INVALID_COMMAND,
  NOT_PRESENT,
  RESERVATION_CANCELLED,
  TOO_LARGE,
} from "../commands/completion-code.ts";
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
import { hasWholeName, parseSensorRecord, type SensorRecord } from "./sensor-record.ts";

/** The largest known repositories, in blade chassis, have about 500 records. */
const MOST_RECORDS = 1_024;
/** How often other clients may cancel the reservation. */
const MOST_LOSSES = 16;
/** How often a record is read before it counts as unreadable: some BMCs occasionally answer junk. */
const TRIES = 2;
/** The number of IDs to try after a record that names no next one; most repositories number their records. */
const MOST_SKIPPED = 4;
const LARGEST_PART_BYTES = 32;
const SMALLEST_PART_BYTES = 8;

/** Stores in the order in which they are tried. */
const STORES: readonly SdrStore[] = [REPOSITORY, DEVICE_RECORDS];

interface Opened {
  readonly store: SdrStore;
  /** Changes when the records change. */
  readonly version: string;
  /** The BMC's count of records; absent if it does not say. */
  readonly records?: number;
}

/** A record with the ID of the next one. */
interface ReadRecord {
  readonly next: number;
  readonly bytes: Buffer;
}

function idOf({ bytes }: ReadRecord): number {
  return bytes.readUInt16LE(0);
}

/** The sensors in a BMC's sensor data records. They are read once per session, with one round trip per record or a few. */
export class SdrRepository {
  readonly #channel: CommandChannel;
  #sensors: SensorRecord[] = [];
  #seen = new Set<number>();
  #next = FIRST_RECORD;
  #opened: Opened | undefined;
  #reservation: number | undefined;
  #losses = 0;
  #gaps: Unread[] = [];
  readonly #parts = new PartRefusals();
  #first: SdrStore = REPOSITORY;
  /** Undefined while the BMC returns whole records. */
  #partBytes: number | undefined;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** Records that could not be read. */
  get gaps(): readonly Unread[] {
    return this.#gaps;
  }

  /** Reads until `isEnough`, or everything. Throws `unsupported` if the BMC has no records. */
  async read(
    signal: AbortSignal,
    isEnough: (sensors: readonly SensorRecord[]) => boolean = () => false,
  ): Promise<readonly SensorRecord[]> {
    while (this.#next !== NO_RECORD && !isEnough(this.#sensors)) {
      if (this.#seen.size >= MOST_RECORDS) {
        this.#leaveOut(`there are more than ${MOST_RECORDS}`);
        break;
      }
      this.#opened ??= await this.open(signal);
      await this.#readNext(this.#opened, signal);
    }
    return this.#sensors;
  }

  /** Finds the location of the records. Throws `unsupported` if the BMC has none. */
  async open(signal: AbortSignal): Promise<Opened> {
    let refusal: Answer | undefined;
    for (const store of STORES.slice(STORES.indexOf(this.#first))) {
      const info = await exchange(this.#channel, store.info, signal);
      const { completionCode, data } = info;
      if (completionCode !== COMPLETED) {
        // Some BMCs refuse this although they have the records.
        if (await this.#hasRecords(store, signal)) return { store, version: "" };
        if (completionCode !== INVALID_COMMAND) refusal ??= info;
        continue;
      }
      const records = store === REPOSITORY && data.length >= 3 ? data.readUInt16LE(1) : undefined;
      if (records === 0) continue;
      return { store, version: data.toString("hex"), ...defined({ records }) };
    }
    if (refusal) dataOf(refusal);
    throw new BmcError("unsupported", "the BMC has no sensor data records");
  }

  async #hasRecords(store: SdrStore, signal: AbortSignal): Promise<boolean> {
    const part = { reservation: NO_RESERVATION, id: FIRST_RECORD, offset: 0, bytes: SDR_HEADER_BYTES };
    const { completionCode } = await exchange(this.#channel, store.get(part), signal);
    return completionCode === COMPLETED || completionCode === RESERVATION_CANCELLED;
  }

  async #readNext(opened: Opened, signal: AbortSignal): Promise<void> {
    const id = this.#next;
    const partBytes = this.#partBytes;
    let problem: BmcError | undefined;
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      try {
        const record = await this.#readRecord(opened.store, id, signal);
        if (record === "lost") return await this.#reopen(opened, signal);
        if (!record && id !== FIRST_RECORD) {
          throw new BmcError(
            "unsupported",
            `the BMC does not have the sensor data record ${id} that it names`,
          );
        }
        const leadsBack = record !== undefined && this.#leadsBack(id, record);
        if (leadsBack && !this.#isLast(id, record, opened)) {
          throw new BmcError("protocol", `the sensor data record ${id} comes after itself`);
        }
        this.#seen.add(id === FIRST_RECORD && record ? idOf(record) : id);
        if (record) this.#sensors.push(...parseSensorRecord(record.bytes));
        this.#next = leadsBack ? NO_RECORD : (record?.next ?? NO_RECORD);
        return;
      } catch (thrown) {
        problem = this.#parts.of(thrown);
        if (problem instanceof UnansweredCommand) break;
      }
      // Smaller parts have not helped here and would not help elsewhere.
      this.#partBytes = partBytes;
    }
    if (!problem) return;
    const isFirst = this.#seen.size === 0;
    if (isFirst && problem.class === "unsupported" && opened.store === REPOSITORY) {
      // Some controllers count the records of a repository that they do not return.
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
    const { records } = opened;
    if (next === NO_RECORD && records !== undefined && this.#seen.size < records)
      this.#leaveOut(`record ${id} does not lead to them`);
  }

  /** Leaves out the records after the last one that was found. */
  #leaveOut(reason: string): void {
    this.#next = NO_RECORD;
    this.#gaps.push({ name: "later sensor data records", reason });
  }

  /** Whether a record leads back; the list would then never end. */
  #leadsBack(id: number, { next }: ReadRecord): boolean {
    return next === id || next === FIRST_RECORD || this.#seen.has(next);
  }

  /**
   * Whether a record is the last one. Some BMCs always name a next record: after all records were read, the one that leads
   * back is the last.
   */
  #isLast(id: number, record: ReadRecord, { records }: Opened): boolean {
    const isOther = id !== FIRST_RECORD && idOf(record) !== id;
    return !isOther && records !== undefined && this.#seen.size + 1 >= records;
  }

  /** The ID of the next readable record after an unreadable one. */
  async #after(store: SdrStore, id: number, signal: AbortSignal): Promise<number> {
    try {
      this.#reservation ??= await this.#reserve(store, signal);
      for (let next = id + 1; next <= id + MOST_SKIPPED && next < NO_RECORD; next += 1) {
        if (this.#seen.has(next)) continue;
        const probe = { reservation: this.#reservation, id: next, offset: 0, bytes: SDR_HEADER_BYTES };
        const answer = await exchange(this.#channel, store.get(probe), signal);
        if (answer.completionCode === COMPLETED) return next;
      }
    } catch (thrown) {
      this.#parts.of(thrown);
    }
    return NO_RECORD;
  }

  /** Continues after a reservation was lost. IDs may have changed only if the records have (section 33.11). */
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

  /** Reads a record; undefined if it does not exist. */
  async #readRecord(
    store: SdrStore,
    id: number,
    signal: AbortSignal,
  ): Promise<ReadRecord | "lost" | undefined> {
    let bytes = Buffer.alloc(0);
    let next = NO_RECORD;
    const partBytes = this.#partBytes;
    for (;;) {
      const part = this.#nextPart(bytes);
      // Whole records need no reservation, and one would cancel that of another client.
      if (part.bytes !== undefined || this.#losses > 0)
        this.#reservation ??= await this.#reserve(store, signal);
      const reservation = this.#reservation ?? NO_RESERVATION;
      const answer = await this.#exchange(store.get({ reservation, id, ...part }), signal);
      if (!answer) continue;
      if (answer.completionCode === RESERVATION_CANCELLED) return "lost";
      if (answer.completionCode === NOT_PRESENT && bytes.length === 0) return undefined;
      if (TOO_LARGE.has(answer.completionCode) && this.#shrink()) continue;
      if (hasWholeName(bytes) && (answer.completionCode !== COMPLETED || answer.data.length < 3)) {
        // The record's length exceeds its data. Smaller parts would not help elsewhere.
        this.#partBytes = partBytes;
        return { next, bytes };
      }
      const found = parseSdrPart(dataOf(answer));
      next = found.next;
      bytes = Buffer.concat([bytes, found.bytes]);
      if (bytes.length < SDR_HEADER_BYTES || bytes.length < sdrLength(bytes)) continue;
      return { next, bytes: bytes.subarray(0, sdrLength(bytes)) };
    }
  }

  async #reserve(store: SdrStore, signal: AbortSignal): Promise<number> {
    const answer = await exchange(this.#channel, store.reserve, signal);
    return answer.completionCode === COMPLETED ? parseSdrReservation(answer.data) : NO_RESERVATION;
  }

  /** The next part to read. Some BMCs refuse to read past a record's end, so the header with the length comes first. */
  #nextPart(bytes: Buffer): Pick<SdrPart, "offset" | "bytes"> {
    if (this.#partBytes === undefined && bytes.length === 0) return { offset: 0 };
    const end = bytes.length < SDR_HEADER_BYTES ? SDR_HEADER_BYTES : sdrLength(bytes);
    const left = end - bytes.length;
    return { offset: bytes.length, bytes: Math.min(left, this.#partBytes ?? LARGEST_PART_BYTES) };
  }

  /**
   * Reads a part; undefined if the BMC was silent, which is how some refuse a read that is too large. The smallest parts are
   * then used.
   */
  async #exchange(command: Command, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      return await exchange(this.#channel, command, signal);
    } catch (thrown) {
      if (!(thrown instanceof UnansweredCommand) || this.#partBytes === SMALLEST_PART_BYTES) throw thrown;
      this.#partBytes = SMALLEST_PART_BYTES;
      return undefined;
    }
  }

  /** Makes the parts smaller. Returns false if they are already as small as possible. */
  #shrink(): boolean {
    const now = this.#partBytes;
    if (now !== undefined && now <= SMALLEST_PART_BYTES) return false;
    this.#partBytes = now === undefined ? LARGEST_PART_BYTES : now / 2;
    return true;
  }
}
