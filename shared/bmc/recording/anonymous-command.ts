import type { Anonymiser } from "../../recording/anonymise.ts";
import { asksForRecord, isPlain, keptBytes } from "../../recording/ipmi-request.ts";
import { textOf } from "../../text-of.ts";
import type { TappedIpmi } from "../../tracing/wire-tap.ts";

const SEL_ENTRY = 0x43;
/** Records of sensors and of where devices are; others are the maker's own, and may hold anything. */
const SDR_TYPES = [0x01, 0x02, 0x03, 0x11, 0x12];
/** From here on, records of the event log are the maker's own. */
const OEM_EVENTS = 0xc0;
const EVENT_HEADER_BYTES = 10;
const SDR_HEADER_BYTES = 5;
/** The ID of the next record, before the record in an answer. */
const NEXT_BYTES = 2;

/** A sensor data record whose bytes identify no machine. */
export function isKnownSdr(record: Uint8Array): boolean {
  return SDR_TYPES.includes(record[3] ?? 0);
}

/** A record of the event log without what a maker has put into one of its own kind. */
export function knownEvent(record: Buffer): Buffer {
  return (record[2] ?? 0) < OEM_EVENTS ? record : withoutRest(record, EVENT_HEADER_BYTES);
}

function withoutRest(record: Buffer, keptBytes: number): Buffer {
  return Buffer.from(record).fill(0, Math.min(keptBytes, record.length));
}

/** Makes of commands, given in their order, what may be written. */
export function commandAnonymiser(anonymiser: Anonymiser) {
  /** Of sensor data records whose first part was read, by ID. */
  const known = new Map<number, boolean>();
  return (one: TappedIpmi) => {
    const { command, netFn, code, data, completionCode, answer, error } = one;
    const kept = data && keptBytes(one, data);
    const shown = answer && (asksForRecord(one) ? recordAnswer(one, known) : isPlain(one) && answer);
    return {
      ...{ command, netFn, code },
      ...(kept && { data: hex(kept) }),
      ...(completionCode !== undefined && { completionCode }),
      ...(shown && { answer: hex(shown) }),
      ...(error !== undefined && { error: anonymiser.text(textOf(error)) }),
    };
  };
}

/** The next record's ID and the record, or a part of it. */
function recordAnswer({ code, data, answer }: TappedIpmi, known: Map<number, boolean>): Buffer {
  const bytes = Buffer.from(answer ?? []);
  const [next, record] = [bytes.subarray(0, NEXT_BYTES), bytes.subarray(NEXT_BYTES)];
  const asked = Buffer.from(data ?? []);
  const [id, isStart] = asked.length < 6 ? [-1, false] : [asked.readUInt16LE(2), asked[4] === 0];
  if (code === SEL_ENTRY)
    return Buffer.concat([next, isStart && record.length >= 3 ? knownEvent(record) : withoutRest(record, 0)]);
  if (isStart) known.set(id, isKnownSdr(record));
  if (known.get(id)) return bytes;
  return Buffer.concat([next, withoutRest(record, isStart ? SDR_HEADER_BYTES : 0)]);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
