import { BmcError } from "../../../../contract/bmc-error.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";

/** The bytes of a record that its length does not include (IPMI 2.0 section 43). */
export const SDR_HEADER_BYTES = 5;
const WHOLE_RECORD = 0xff;

/** The location of the records: the BMC's repository (section 33), or a controller without one (section 35). */
export interface SdrStore {
  readonly info: Command;
  readonly reserve: Command;
  get(part: SdrPart): Command;
}

/** A part of a record; without `bytes`, it extends to the record's end. */
export interface SdrPart {
  readonly reservation: number;
  readonly id: number;
  readonly offset: number;
  readonly bytes?: number;
}

const storeOf = (netFn: number, name: string, getNumber: number): SdrStore => ({
  info: ipmiCommand(`Get ${name} Info`, netFn, 0x20),
  reserve: ipmiCommand(`Reserve ${name}`, netFn, 0x22),
  get({ reservation, id, offset, bytes = WHOLE_RECORD }) {
    const data = Buffer.alloc(6);
    data.writeUInt16LE(reservation, 0);
    data.writeUInt16LE(id, 2);
    data.writeUInt8(offset, 4);
    data.writeUInt8(bytes, 5);
    return ipmiCommand(`Get ${name.replace(" Repository", "")}`, netFn, getNumber, { data });
  },
});

export const REPOSITORY = storeOf(NetFn.storage, "SDR Repository", 0x23);
export const DEVICE_RECORDS = storeOf(NetFn.sensor, "Device SDR", 0x21);

export function parseSdrReservation(data: Buffer): number {
  if (data.length < 2) throw new BmcError("protocol", "Reserve SDR: the answer is shorter than 2 bytes");
  return data.readUInt16LE(0);
}

export interface SdrAnswer {
  /** 0xffff after the last record. */
  readonly next: number;
  readonly bytes: Buffer;
}

export function parseSdrPart(data: Buffer): SdrAnswer {
  if (data.length < 3) throw new BmcError("protocol", "Get SDR: the answer contains no part of a record");
  return { next: data.readUInt16LE(0), bytes: data.subarray(2) };
}

/** The length of a record from its first bytes. */
export function sdrLength(header: Buffer): number {
  return SDR_HEADER_BYTES + header.readUInt8(4);
}
