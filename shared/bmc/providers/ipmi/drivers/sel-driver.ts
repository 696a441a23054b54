import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { type SelDriver, type SelEntry, type SelOptions, unreadEntry } from "../../../operations/sel.ts";
import {
  type Answer,
  type CommandChannel,
  dataOf,
  exchange,
  PartRefusals,
  request,
} from "../commands/channel.ts";
import {
  CANNOT_RETURN_SO_MANY,
  COMPLETED,
  NOT_PRESENT,
  REQUEST_TOO_LONG,
  RESERVATION_CANCELLED,
} from "../commands/completion-code.ts";
import { describeRecord } from "../records/describe-record.ts";
import { eventSensors } from "../records/event-sensors.ts";
import type { SdrRepository } from "../records/sdr-repository.ts";
import {
  clearSel,
  FIRST_RECORD,
  GET_SEL_INFO,
  getSelEntry,
  NO_RECORD,
  NO_RESERVATION,
  parseErasure,
  parseReservation,
  parseSelEntry,
  parseSelEntryCount,
  parseSelOverflow,
  RECORD_BYTES,
  RESERVE_SEL,
  type SelEntryPart,
} from "../records/sel-commands.ts";
import { parseSelRecord, type SelRecord } from "../records/sel-record.ts";

/** How often a reservation is renewed after another client cancelled it. */
const RESERVATIONS = 4;
const ERASURE_LIMIT_MS = 60_000;
const ERASURE_POLLS_MS = { first: 100, longest: 1_000 } as const;
/** The completion code while the log is being erased. */
const ERASING_LOG = 0x81;
/** The number of IDs to try after a record that cannot be read. */
const MOST_SKIPPED = 4;
/** The size of the parts of a record if a BMC cannot return it whole. Messages of IPMB can carry this. */
const PART_BYTES = 8;
/** Codes of a BMC that does not return whole records. */
const PARTS_ONLY = new Set([CANNOT_RETURN_SO_MANY, REQUEST_TOO_LONG]);

/** The records of the log. */
interface SelRecords {
  /** The oldest first. */
  readonly records: readonly SelRecord[];
  readonly gaps: readonly SelEntry[];
  /** Whether the log was full when later records arrived. */
  readonly overflowed: boolean;
}

/** The system event log (IPMI 2.0 section 31). */
export class IpmiSel implements SelDriver {
  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #sensors: SdrRepository;
  #inParts = false;
  #reservation: number | undefined;

  constructor(channel: CommandChannel, clock: Clock, sensors: SdrRepository) {
    this.#channel = channel;
    this.#clock = clock;
    this.#sensors = sensors;
  }

  async count(signal: AbortSignal): Promise<number> {
    const count = parseSelEntryCount(await request(this.#channel, GET_SEL_INFO, signal));
    if (count > 0) await this.#readRecord(FIRST_RECORD, signal);
    return count;
  }

  async list(signal: AbortSignal, { sensorNames = false }: SelOptions = {}): Promise<readonly SelEntry[]> {
    const { records, gaps } = await this.records(signal);
    const sensors = sensorNames ? await eventSensors(records, this.#sensors, this.#clock, signal) : undefined;
    return [...records.map((record) => describeRecord(record, sensors?.get(record))), ...gaps];
  }

  /** Reads all records, each of which names the next one. Records that cannot be read or reached are gaps. */
  async records(signal: AbortSignal): Promise<SelRecords> {
    const info = await request(this.#channel, GET_SEL_INFO, signal);
    const count = parseSelEntryCount(info);
    const overflowed = parseSelOverflow(info);
    const records: SelRecord[] = [];
    if (count === 0) return { records, gaps: [], overflowed };
    const seen = new Set<number>();
    const parts = new PartRefusals();
    const unread: SelEntry[] = [];
    let problem: string | undefined;
    for (let id = FIRST_RECORD; id !== NO_RECORD; ) {
      // A log whose records lead back would never end.
      if (seen.has(id)) {
        problem = `record ${id} comes after itself`;
        break;
      }
      seen.add(id);
      try {
        const part = await this.#readOn(id, records.length < count, signal);
        if (!part && (await this.#hasShrunk(count, signal))) break;
        if (!part) throw new BmcError("unsupported", `the BMC does not have record ${id} that it names`);
        records.push(parseSelRecord(part.bytes));
        id = part.next;
      } catch (thrown) {
        problem = parts.of(thrown).message;
        const next = await this.#after(id, seen, parts, signal);
        if (next === undefined && records.length === 0) throw thrown;
        if (next === undefined) break;
        unread.push(unreadEntry(String(id), `record ${id}: ${problem}`));
        problem = undefined;
        id = next;
      }
    }
    // The last record may name any ID. A log that is cleared meanwhile just ends.
    if (problem === undefined || records.length >= count) return { records, gaps: unread, overflowed };
    const reason = `${records.length} of ${count} records were read: ${problem}`;
    return { records, gaps: [...unread, unreadEntry("", reason)], overflowed };
  }

  /**
   * Continues after record 0: some BMCs occasionally name it, the first record, as the next one, and name the right one when
   * they are asked again.
   */
  async #readOn(id: number, isAwaitingMore: boolean, signal: AbortSignal): Promise<SelEntryPart | undefined> {
    const part = await this.#readRecord(id, signal);
    const isDoubtful = isAwaitingMore && part?.next === FIRST_RECORD;
    return isDoubtful ? ((await this.#readRecord(id, signal)) ?? part) : part;
  }

  /** Whether the log was cleared since it had `count` records. */
  async #hasShrunk(count: number, signal: AbortSignal): Promise<boolean> {
    return parseSelEntryCount(await request(this.#channel, GET_SEL_INFO, signal)) < count;
  }

  /** The ID of the next readable record after an unreadable one; most logs number their records. */
  async #after(
    id: number,
    seen: ReadonlySet<number>,
    parts: PartRefusals,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    try {
      for (let next = id + 1; next <= id + MOST_SKIPPED && next < NO_RECORD; next += 1) {
        const part = { reservation: this.#reservation ?? NO_RESERVATION, id: next, offset: 0 };
        if (seen.has(next)) continue;
        const { completionCode } = await exchange(this.#channel, getSelEntry(part), signal);
        if (completionCode === COMPLETED || PARTS_ONLY.has(completionCode)) return next;
      }
    } catch (thrown) {
      parts.of(thrown);
    }
    return undefined;
  }

  async plan(signal: AbortSignal): Promise<string> {
    await request(this.#channel, GET_SEL_INFO, signal);
    return clearSel(NO_RESERVATION, "erase").name;
  }

  async clear(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const reservation = await this.#reserve(signal);
      const begun = await exchange(this.#channel, clearSel(reservation, "erase"), signal);
      if (begun.completionCode === RESERVATION_CANCELLED && attempt < RESERVATIONS) continue;
      if (!parseErasure(dataOf(begun))) await this.#erased(reservation, signal);
      return;
    }
  }

  async #erased(reservation: number, signal: AbortSignal): Promise<void> {
    const endMs = this.#clock.monotonicMs() + ERASURE_LIMIT_MS;
    for (
      let waitMs: number = ERASURE_POLLS_MS.first;
      ;
      waitMs = Math.min(2 * waitMs, ERASURE_POLLS_MS.longest)
    ) {
      await this.#clock.sleep(waitMs, signal);
      const status = await exchange(this.#channel, clearSel(reservation, "status"), signal);
      // Erasing may itself invalidate the reservation. Nothing is then left to ask about.
      if (status.completionCode === RESERVATION_CANCELLED) return;
      if (parseErasure(dataOf(status))) return;
      if (this.#clock.monotonicMs() >= endMs) {
        throw new BmcError("timeout", `Clear SEL: not erased within ${ERASURE_LIMIT_MS} ms`);
      }
    }
  }

  /** Reads a record; undefined if it is missing because the log was cleared meanwhile. */
  async #readRecord(id: number, signal: AbortSignal): Promise<SelEntryPart | undefined> {
    if (!this.#inParts) {
      const answer = await this.#readWhole(id, signal);
      if (answer.completionCode === NOT_PRESENT) return undefined;
      const whole = answer.completionCode === COMPLETED ? parseSelEntry(answer.data) : undefined;
      if (whole && whole.bytes.length >= RECORD_BYTES) return whole;
      if (!whole && !PARTS_ONLY.has(answer.completionCode)) dataOf(answer);
      this.#inParts = true;
    }
    return this.#readParts(id, signal);
  }

  /** Reads a whole record. It needs no reservation, but some BMCs require one. */
  async #readWhole(id: number, signal: AbortSignal): Promise<Answer> {
    for (let reservations = 0; ; reservations += 1) {
      const part = { reservation: this.#reservation ?? NO_RESERVATION, id, offset: 0 };
      const answer = await exchange(this.#channel, getSelEntry(part), signal);
      if (answer.completionCode !== RESERVATION_CANCELLED || reservations >= RESERVATIONS) return answer;
      this.#reservation = await this.#reserve(signal);
    }
  }

  /** Reads the parts of a record. They belong together only under one reservation (section 31.5). */
  async #readParts(id: number, signal: AbortSignal): Promise<SelEntryPart | undefined> {
    let bytes = Buffer.alloc(0);
    for (let reservations = 0; ; ) {
      this.#reservation ??= await this.#reserve(signal);
      const size = Math.min(PART_BYTES, RECORD_BYTES - bytes.length);
      const part = { reservation: this.#reservation, id, offset: bytes.length, bytes: size };
      const answer = await exchange(this.#channel, getSelEntry(part), signal);
      if (answer.completionCode === NOT_PRESENT) return undefined;
      if (answer.completionCode === RESERVATION_CANCELLED && reservations < RESERVATIONS) {
        reservations += 1;
        this.#reservation = undefined;
        bytes = Buffer.alloc(0);
        continue;
      }
      const { next, bytes: more } = parseSelEntry(dataOf(answer));
      bytes = Buffer.concat([bytes, more]);
      if (bytes.length >= RECORD_BYTES) return { next, bytes };
    }
  }

  /** Reserves the log. BMCs that only one console can ask need no reservation and may not know the command. */
  async #reserve(signal: AbortSignal): Promise<number> {
    const answer = await exchange(this.#channel, RESERVE_SEL, signal);
    if (answer.completionCode === ERASING_LOG) dataOf(answer);
    return answer.completionCode === COMPLETED ? parseReservation(answer.data) : NO_RESERVATION;
  }
}
