import type { Anonymiser } from "../../recording/anonymise.ts";
import { asksForRecord, keptAnswer, keptBytes } from "../../recording/ipmi-request.ts";
import { textOf } from "../../text-of.ts";
import type { TappedIpmi } from "../../tracing/wire-tap.ts";
import { decodeField } from "../providers/ipmi/records/fru.ts";

const SEL_ENTRY = 0x43;
/**
 * Positions of the type and length of a name in records of sensors and device locators. Other records are in the vendor's
 * own format.
 */
const NAME_AT = new Map([
  [0x01, 47],
  [0x02, 31],
  [0x03, 16],
  [0x11, 15],
  [0x12, 15],
]);
/** Types of records in the event log (IPMI 2.0 section 32): the standard one, and those of vendors with a time. */
const [EVENT, FIRST_TIMED, LAST_TIMED] = [0x02, 0xc0, 0xdf];
const [EVENT_HEADER_BYTES, TIMED_HEADER_BYTES] = [3, 10];
const SDR_HEADER_BYTES = 5;
/** The bytes of the next record's ID, which precede the record in an answer. */
const NEXT_BYTES = 2;
/** English, or another language with Latin letters (FRU specification, section 15). */
const [EIGHT_BIT, ENGLISH] = [3, 25];

/** Whether the bytes of a sensor data record, except its name, do not identify a machine. */
export function isKnownSdr(record: Uint8Array): boolean {
  return NAME_AT.has(record[3] ?? 0);
}

/** A sensor data record, or its beginning, with an anonymous name; of a vendor's own record only the header. */
function anonymousSdr(record: Buffer, anonymiser: Anonymiser): Buffer {
  const at = NAME_AT.get(record[3] ?? 0);
  if (at === undefined) return withoutRest(record, SDR_HEADER_BYTES);
  const shown = withoutRest(record, at + 1);
  const kind = record[at];
  if (kind === undefined) return shown;
  const bytes = record.subarray(at + 1, at + 1 + (kind & 0x1f));
  const text =
    kind >> 6 === EIGHT_BIT ? bytes.toString("latin1") : (decodeField(kind >> 6, bytes, ENGLISH) ?? "");
  const name = anonymiser.text(text);
  // A name in another encoding is unchanged or missing.
  if (name === text) shown.set(bytes, at + 1);
  else if (kind >> 6 === EIGHT_BIT) shown.write(name.slice(0, bytes.length), at + 1, "latin1");
  return shown;
}

/** A record of the event log without the contents of a vendor's own type. */
export function knownEvent(record: Buffer): Buffer {
  const type = record[2] ?? 0;
  if (type === EVENT) return record;
  const isTimed = type >= FIRST_TIMED && type <= LAST_TIMED;
  return withoutRest(record, isTimed ? TIMED_HEADER_BYTES : EVENT_HEADER_BYTES);
}

function withoutRest(record: Buffer, keptBytes: number): Buffer {
  return Buffer.from(record).fill(0, Math.min(keptBytes, record.length));
}

/** Makes commands anonymous, in their order. `sdrs` are the anonymous records that they read. */
export function commandAnonymiser(anonymiser: Anonymiser, sdrs: ReadonlyMap<number, Buffer>) {
  return (one: TappedIpmi) => {
    const { command, netFn, code, data, completionCode, answer, error } = one;
    const kept = data && keptBytes(one, data);
    const shown = answer && (asksForRecord(one) ? recordAnswer(one, sdrs) : keptAnswer(one, answer));
    return {
      command: anonymiser.text(command),
      netFn,
      code,
      ...(kept && { data: hex(kept) }),
      ...(completionCode !== undefined && { completionCode }),
      ...(shown && { answer: hex(shown) }),
      ...(error !== undefined && { error: anonymiser.text(textOf(error)) }),
    };
  };
}

/** The ID of the next record, and the record or a part of it. */
function recordAnswer({ code, data, answer }: TappedIpmi, sdrs: ReadonlyMap<number, Buffer>): Buffer {
  const bytes = Buffer.from(answer ?? []);
  const [next, record] = [bytes.subarray(0, NEXT_BYTES), bytes.subarray(NEXT_BYTES)];
  const asked = Buffer.from(data ?? []);
  const [id, offset] = asked.length < 6 ? [-1, 0] : [asked.readUInt16LE(2), asked.readUInt8(4)];
  if (code === SEL_ENTRY) {
    const isWhole = offset === 0 && record.length >= 3;
    return Buffer.concat([next, isWhole ? knownEvent(record) : withoutRest(record, 0)]);
  }
  const shown = Buffer.alloc(record.length);
  sdrs.get(id)?.copy(shown, 0, offset, offset + record.length);
  return Buffer.concat([next, shown]);
}

/** Combines records from the parts in which they were read, by ID, in the order of their first part. */
export function recordsOf(
  commands: readonly TappedIpmi[],
  isOne: (netFn: number | undefined, code: number) => boolean,
): ReadonlyMap<number, Buffer> {
  const records = new Map<number, Buffer>();
  for (const { netFn, code, data, answer, completionCode } of commands) {
    if (!isOne(netFn, code) || completionCode !== 0 || !data || !answer || answer.length < 3) continue;
    const [sent, bytes] = [Buffer.from(data), Buffer.from(answer).subarray(NEXT_BYTES)];
    if (sent.length < 6) continue;
    const offset = sent.readUInt8(4);
    const id = sent.readUInt16LE(2);
    const before = records.get(id) ?? Buffer.alloc(0);
    if (offset <= before.length) records.set(id, Buffer.concat([before.subarray(0, offset), bytes]));
  }
  return records;
}

/** The anonymous sensor data records that commands read, by ID. */
export function anonymousSdrs(
  commands: readonly TappedIpmi[],
  anonymiser: Anonymiser,
): ReadonlyMap<number, Buffer> {
  const records = recordsOf(commands, (netFn, code) => asksForRecord({ netFn, code }) && code !== SEL_ENTRY);
  return new Map([...records].map(([id, record]) => [id, anonymousSdr(record, anonymiser)]));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
