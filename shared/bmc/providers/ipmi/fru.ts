import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";

/** The FRU that describes the machine the BMC belongs to (IPMI 2.0 section 34, FRU device ID 0). */
const SYSTEM_FRU = 0x00;

/** Get FRU Inventory Area Info (section 34.1). */
export const GET_FRU_AREA_INFO = ipmiCommand("Get FRU Inventory Area Info", NetFn.storage, 0x10, {
  data: Uint8Array.of(SYSTEM_FRU),
});

export interface FruAreaInfo {
  readonly bytes: number;
  /** Bytes that one step of an offset counts: 2 where the device is read in words. */
  readonly unit: 1 | 2;
}

export function parseFruAreaInfo(data: Buffer): FruAreaInfo {
  if (data.length < 3) {
    throw new BmcError("protocol", "Get FRU Inventory Area Info: the answer is shorter than 3 bytes");
  }
  return { bytes: data.readUInt16LE(0), unit: (data.readUInt8(2) & 1) === 1 ? 2 : 1 };
}

/** Read FRU Data (section 34.2). `offset` and `count` in the device's units; the answer's count too. */
export function readFruData(offset: number, count: number): Command {
  const data = Buffer.of(SYSTEM_FRU, 0, 0, count);
  data.writeUInt16LE(offset, 1);
  return ipmiCommand("Read FRU Data", NetFn.storage, 0x11, {
    data,
    refusals: { 129: { class: "busy", reason: "the FRU is in use" } },
  });
}

/** The bytes out of its answer: what the count announces and no more. Throws `protocol` for none. */
export function parseFruData(data: Buffer, unit: 1 | 2): Buffer {
  const bytes = data.subarray(1, 1 + (data[0] ?? 0) * unit);
  if (bytes.length === 0) throw new BmcError("protocol", "Read FRU Data: the answer holds no data");
  return bytes;
}

/** Platform Management FRU Information Storage Definition 1.0, section 8: offsets count in 8 bytes. */
const OFFSET_BYTES = 8;
export const FRU_HEADER_BYTES = 8;
const FORMAT_VERSION = 1;
const ENGLISH_CODE = 25;
const ENGLISH = new Set([0, ENGLISH_CODE]);
const END_OF_FIELDS = 0xc1;

/** Where the areas with names begin, in bytes; absent where the FRU has none. */
export interface FruHeader {
  readonly chassis?: number;
  readonly board?: number;
  readonly product?: number;
}

/** The common header; undefined when it is not one or its checksum fails. */
export function parseFruHeader(bytes: Buffer): FruHeader | undefined {
  const header = bytes.subarray(0, FRU_HEADER_BYTES);
  if (header.length < FRU_HEADER_BYTES || (header.readUInt8(0) & 0x0f) !== FORMAT_VERSION) return undefined;
  if (!sumsToZero(header)) return undefined;
  const chassis = header.readUInt8(2) * OFFSET_BYTES;
  const board = header.readUInt8(3) * OFFSET_BYTES;
  const product = header.readUInt8(4) * OFFSET_BYTES;
  return defined({
    chassis: chassis || undefined,
    board: board || undefined,
    product: product || undefined,
  });
}

/** How long an area is, in bytes, out of its second byte. */
export function fruAreaBytes(start: Buffer): number {
  return (start[1] ?? 0) * OFFSET_BYTES;
}

/** What names a machine; a field that is empty or not there is absent. */
export interface FruNames {
  readonly vendor?: string;
  readonly model?: string;
  readonly serial?: string;
}

/** Section 10: part number, serial number. The area has no language: its texts are English. */
export function parseChassisArea(area: Buffer): FruNames | undefined {
  const fields = readFields(area, 3, ENGLISH_CODE);
  return fields && names(undefined, fields[0], fields[1]);
}

/** Section 11: manufacturer, product name, serial number, part number. */
export function parseBoardArea(area: Buffer): FruNames | undefined {
  const fields = readFields(area, 6);
  return fields && names(fields[0], fields[1], fields[2]);
}

/** Section 12: manufacturer, product name, part or model number, version, serial number. */
export function parseProductArea(area: Buffer): FruNames | undefined {
  const fields = readFields(area, 3);
  return fields && names(fields[0], fields[1] ?? fields[2], fields[4]);
}

function names(vendor?: string, model?: string, serial?: string): FruNames {
  return {
    ...defined({ vendor, model, serial }),
  };
}

/** The fields from `offset` on; undefined when the area is cut short or its checksum fails. */
function readFields(
  area: Buffer,
  offset: number,
  language = area[2] ?? ENGLISH_CODE,
): (string | undefined)[] | undefined {
  const bytes = area.subarray(0, fruAreaBytes(area));
  if (bytes.length <= offset || bytes.length < fruAreaBytes(area)) return undefined;
  if ((bytes.readUInt8(0) & 0x0f) !== FORMAT_VERSION || !sumsToZero(bytes)) return undefined;
  const fields: (string | undefined)[] = [];
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

/** Section 13, type/length byte: 0 binary, 1 BCD plus, 2 six-bit ASCII, 3 text in the area's language. */
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
    ? bytes.toString("latin1")
    : bytes.subarray(0, bytes.length & ~1).toString("utf16le");
}

const BCD_PLUS = "0123456789 -.";

/** Four characters in three bytes, the first in the lowest bits. */
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
