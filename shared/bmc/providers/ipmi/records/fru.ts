import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";

/** The FRU of the machine that the BMC belongs to (IPMI 2.0 section 34, FRU device ID 0). */
const SYSTEM_FRU = 0x00;

/** Get FRU Inventory Area Info (section 34.1). */
export const GET_FRU_AREA_INFO = ipmiCommand("Get FRU Inventory Area Info", NetFn.storage, 0x10, {
  data: Uint8Array.of(SYSTEM_FRU),
});

export interface FruAreaInfo {
  readonly bytes: number;
  /** The number of bytes per unit of an offset: 2 if the device is read in words. */
  readonly unit: 1 | 2;
}

export function parseFruAreaInfo(data: Buffer): FruAreaInfo {
  if (data.length < 3) {
    throw new BmcError("protocol", "Get FRU Inventory Area Info: the answer is shorter than 3 bytes");
  }
  return { bytes: data.readUInt16LE(0), unit: (data.readUInt8(2) & 1) === 1 ? 2 : 1 };
}

/** Read FRU Data (section 34.2). `offset` and `count` are in the device's units, like the count of the answer. */
export function readFruData(offset: number, count: number): Command {
  const data = Buffer.of(SYSTEM_FRU, 0, 0, count);
  data.writeUInt16LE(offset, 1);
  return ipmiCommand("Read FRU Data", NetFn.storage, 0x11, {
    data,
    refusals: { 129: { class: "busy", reason: "the FRU is in use" } },
  });
}

/** The bytes of an answer, limited to the announced count. Throws `protocol` if there are none. */
export function parseFruData(data: Buffer, unit: 1 | 2): Buffer {
  const bytes = data.subarray(1, 1 + (data[0] ?? 0) * unit);
  if (bytes.length === 0) throw new BmcError("protocol", "Read FRU Data: the answer holds no data");
  return bytes;
}

/** Offsets are in units of 8 bytes (Platform Management FRU Information Storage Definition 1.0, section 8). */
const OFFSET_BYTES = 8;
export const FRU_HEADER_BYTES = 8;
const FORMAT_VERSION = 1;
const ENGLISH_CODE = 25;
const ENGLISH = new Set([0, ENGLISH_CODE]);
const END_OF_FIELDS = 0xc1;

/** The offsets of areas with names, in bytes; absent if the FRU lacks them. */
export interface FruHeader {
  readonly areas: {
    readonly chassis?: number;
    readonly board?: number;
    readonly product?: number;
  };
  /** Vendors store wrong checksums with correct values. */
  readonly hasWrongChecksum: boolean;
}

/** Parses the common header; undefined if it is invalid. */
export function parseFruHeader(bytes: Buffer): FruHeader | undefined {
  const header = bytes.subarray(0, FRU_HEADER_BYTES);
  if (header.length < FRU_HEADER_BYTES || (header.readUInt8(0) & 0x0f) !== FORMAT_VERSION) return undefined;
  const chassis = header.readUInt8(2) * OFFSET_BYTES;
  const board = header.readUInt8(3) * OFFSET_BYTES;
  const product = header.readUInt8(4) * OFFSET_BYTES;
  const areas = defined({
    chassis: chassis || undefined,
    board: board || undefined,
    product: product || undefined,
  });
  return { areas, hasWrongChecksum: !sumsToZero(header) };
}

/** The length of an area in bytes, from its second byte. */
export function fruAreaBytes(start: Buffer): number {
  return (start[1] ?? 0) * OFFSET_BYTES;
}

/** Names of a machine; empty and missing fields are absent. */
interface FruNames {
  readonly vendor?: string;
  readonly model?: string;
  readonly serial?: string;
}

/** The names in an area; undefined if it is invalid. */
export interface FruArea {
  readonly names: FruNames;
  /** Why the names may be wrong or incomplete, for people. */
  readonly doubt?: string;
}

/** The chassis area (section 10): part number, serial number. It has no language; its texts are English. */
export function parseChassisArea(area: Buffer): FruArea | undefined {
  return parseArea(area, 3, ([model, serial]) => ({ model, serial }), ENGLISH_CODE);
}

/** The board area (section 11): manufacturer, product name, serial number, part number. */
export function parseBoardArea(area: Buffer): FruArea | undefined {
  return parseArea(area, 6, ([vendor, model, serial]) => ({ vendor, model, serial }));
}

/** The product area (section 12): manufacturer, product name, part or model number, version, serial number. */
export function parseProductArea(area: Buffer): FruArea | undefined {
  return parseArea(area, 3, ([vendor, name, part, , serial]) => ({ vendor, model: name ?? part, serial }));
}

type Field = string | undefined;

/** Parses an area whose fields begin at `offset`. */
function parseArea(
  area: Buffer,
  offset: number,
  names: (
    fields: readonly Field[],
  ) => Record<keyof FruNames, Field> | Omit<Record<keyof FruNames, Field>, "vendor">,
  language = area[2] ?? ENGLISH_CODE,
): FruArea | undefined {
  const length = fruAreaBytes(area);
  const bytes = area.subarray(0, length);
  if (bytes.length <= offset || (bytes.readUInt8(0) & 0x0f) !== FORMAT_VERSION) return undefined;
  const isWhole = bytes.length === length;
  const doubt = isWhole ? (sumsToZero(bytes) ? undefined : "its checksum is wrong") : "it is cut short";
  return { names: defined(names(readFields(bytes, offset, language))), ...defined({ doubt }) };
}

function readFields(bytes: Buffer, offset: number, language: number): readonly Field[] {
  const fields: Field[] = [];
  // The last byte is the checksum.
  for (let at = offset; at < bytes.length - 1; ) {
    const typeAndLength = bytes.readUInt8(at);
    if (typeAndLength === END_OF_FIELDS) break;
    const end = at + 1 + (typeAndLength & 0x3f);
    if (end > bytes.length - 1) break;
    fields.push(decodeField(typeAndLength >> 6, bytes.subarray(at + 1, end), language));
    at = end;
  }
  return fields;
}

/**
 * Decodes a field by its type/length byte (section 13): 0 binary, 1 BCD plus, 2 six-bit ASCII, 3 text in the area's
 * language.
 */
export function decodeField(type: number, bytes: Buffer, language: number): string | undefined {
  const text = fieldText(type, bytes, language).replaceAll("\0", "").trim();
  return text === "" ? undefined : text;
}

function fieldText(type: number, bytes: Buffer, language: number): string {
  if (type === 0) return bytes.toString("hex");
  if (type === 1) {
    return Array.from(bytes, (byte) => `${BCD_PLUS[byte >> 4] ?? ""}${BCD_PLUS[byte & 0x0f] ?? ""}`).join("");
  }
  if (type === 2) return sixBitAscii(bytes);
  return ENGLISH.has(language)
    ? bytes.subarray(0, textEnd(bytes)).toString("latin1")
    : bytes.subarray(0, bytes.length & ~1).toString("utf16le");
}

/** Bytes with which vendors pad texts. */
const FILLING: ReadonlySet<number> = new Set([0x00, 0x03, 0x10, 0x20, 0xfe, 0xff]);

function textEnd(bytes: Buffer): number {
  return bytes.findLastIndex((byte) => !FILLING.has(byte)) + 1;
}

const BCD_PLUS = "0123456789 -.";

/** Decodes four characters from three bytes, the first in the lowest bits. */
function sixBitAscii(bytes: Buffer): string {
  const characters = Array.from({ length: Math.floor((bytes.length * 8) / 6) }, (_, index) => {
    const bit = index * 6;
    const low = bytes[bit >> 3] ?? 0;
    const high = bytes[(bit >> 3) + 1] ?? 0;
    return String.fromCharCode(0x20 + ((((high << 8) | low) >> (bit & 7)) & 0x3f));
  });
  return characters.join("");
}

function sumsToZero(bytes: Buffer): boolean {
  let sum = 0;
  for (const byte of bytes) sum += byte;
  return sum % 256 === 0;
}
