import { BmcError } from "../../../../contract/bmc-error.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";

/** The IDs that mean the oldest record in a request, and "no further record" in an answer. */
export const FIRST_RECORD = 0x0000;
export const NO_RECORD = 0xffff;
/** Size of a record; some BMCs return only a part at a time. */
export const RECORD_BYTES = 16;
const WHOLE_RECORD = 0xff;
/** Reads of whole records need no reservation (IPMI 2.0 section 31.5). */
export const NO_RESERVATION = 0x0000;

const ERASING: NonNullable<Command["refusals"]> = {
  129: { class: "busy", reason: "the event log is being erased" },
};

/** Get SEL Info (section 31.2). */
export const GET_SEL_INFO = ipmiCommand("Get SEL Info", NetFn.storage, 0x40, { refusals: ERASING });

/** The number of records in the log, from an answer of Get SEL Info. */
export function parseSelEntryCount(data: Buffer): number {
  if (data.length < 3) throw new BmcError("protocol", "Get SEL Info: the answer is shorter than 3 bytes");
  return data.readUInt16LE(1);
}

/** Whether records were dropped because the log was full. False if the answer is too short to say. */
export function parseSelOverflow(data: Buffer): boolean {
  return ((data[13] ?? 0) & 0x80) !== 0;
}

/** Reserve SEL (section 31.4). A second reservation only invalidates the first one. */
export const RESERVE_SEL = ipmiCommand("Reserve SEL", NetFn.storage, 0x42, { refusals: ERASING });

export function parseReservation(data: Buffer): number {
  if (data.length < 2) throw new BmcError("protocol", "Reserve SEL: the answer is shorter than 2 bytes");
  return data.readUInt16LE(0);
}

export interface RecordPart {
  readonly reservation: number;
  readonly id: number;
  readonly offset: number;
  /** Absent to read up to the record's end. */
  readonly bytes?: number;
}

/** Get SEL Entry (section 31.5). */
export function getSelEntry({ reservation, id, offset, bytes = WHOLE_RECORD }: RecordPart): Command {
  const data = Buffer.alloc(6);
  data.writeUInt16LE(reservation, 0);
  data.writeUInt16LE(id, 2);
  data[4] = offset;
  data[5] = bytes;
  return ipmiCommand("Get SEL Entry", NetFn.storage, 0x43, {
    data,
    refusals: ERASING,
  });
}

export interface SelEntryPart {
  /** `NO_RECORD` after the last one. */
  readonly next: number;
  readonly bytes: Buffer;
}

export function parseSelEntry(data: Buffer): SelEntryPart {
  if (data.length < 3)
    throw new BmcError("protocol", "Get SEL Entry: the answer contains no part of a record");
  return { next: data.readUInt16LE(0), bytes: data.subarray(2) };
}

const ERASE = 0xaa;
const ERASE_STATUS = 0x00;

/** Clear SEL (section 31.9): starts the erasure, or asks for its progress. */
export function clearSel(reservation: number, step: "erase" | "status"): Command {
  const data = Buffer.from([0, 0, 0x43, 0x4c, 0x52, step === "erase" ? ERASE : ERASE_STATUS]);
  data.writeUInt16LE(reservation, 0);
  return ipmiCommand(step === "erase" ? "Clear SEL" : "Clear SEL (status)", NetFn.storage, 0x47, {
    data,
    needs: "operator",
    effect: step === "erase" ? "set" : "read",
  });
}

export function parseErasure(data: Buffer): boolean {
  if (data.length < 1) throw new BmcError("protocol", "Clear SEL: the answer is empty");
  return (data.readUInt8(0) & 0x0f) === 0x01;
}

/** Get SEL Time (section 31.10). */
export const GET_SEL_TIME = ipmiCommand("Get SEL Time", NetFn.storage, 0x48);

/** The seconds as sent by the BMC. */
export function parseSelTime(data: Buffer): number {
  if (data.length < 4) throw new BmcError("protocol", "Get SEL Time: the answer is shorter than 4 bytes");
  return data.readUInt32LE(0);
}
