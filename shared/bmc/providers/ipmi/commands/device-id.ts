import { BmcError } from "../../../../contract/bmc-error.ts";
import { ipmiCommand, NetFn } from "./command.ts";
import vendors from "./vendors.json" with { type: "json" };

/** Get Device ID (IPMI 2.0 section 20.1). */
export const GET_DEVICE_ID = ipmiCommand("Get Device ID", NetFn.app, 0x01);

export interface DeviceId {
  /** Such as `2.10`; the second part is two BCD digits. */
  readonly firmware: string;
  /** Such as `2.0`. */
  readonly ipmiVersion: string;
  /** The IANA enterprise number. */
  readonly manufacturer: number;
  readonly product: number;
}

/** Parses the answer. Throws `protocol` if it is shorter than in IPMI 1.0. */
export function parseDeviceId(data: Buffer): DeviceId {
  if (data.length < 11) throw new BmcError("protocol", "Get Device ID: the answer is shorter than 11 bytes");
  const version = data.readUInt8(4);
  return {
    firmware: `${data.readUInt8(2) & 0x7f}.${data.readUInt8(3).toString(16).padStart(2, "0")}`,
    // BCD with the least significant digit first.
    ipmiVersion: `${version & 0x0f}.${version >> 4}`,
    manufacturer: data.readUIntLE(6, 3) & 0x0f_ff_ff,
    product: data.readUInt16LE(9),
  };
}

/** Reads the manufacturer's IANA enterprise number from an answer of Get Device ID; undefined if the answer is too short. */
export function parseManufacturer(data: Buffer): number | undefined {
  return data.length >= 9 ? data.readUIntLE(6, 3) & 0x0f_ff_ff : undefined;
}

/** Vendors by the IANA enterprise number that BMCs report. */
const VENDORS: Readonly<Record<string, string>> = vendors;

/** The manufacturer for people; an unknown one is shown by its number. */
export function vendorOf(manufacturer: number): string {
  return VENDORS[manufacturer] ?? `enterprise ${manufacturer}`;
}

/** Get System GUID (IPMI 2.0 section 22.14), which SMBIOS calls the system's UUID. */
export const GET_SYSTEM_GUID = ipmiCommand("Get System GUID", NetFn.app, 0x37);

const GUID_BYTES = 16;

/** Orders of the sixteen bytes, the most common one first. */
const LAYOUTS: readonly ((bytes: Buffer) => Buffer)[] = [
  // SMBIOS 3.x section 7.2.1: the first three fields little-endian. Most BMCs copy it from there.
  (bytes) => Buffer.from([3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map((at) => bytes[at] ?? 0)),
  // IPMI 2.0 table 20-10: all bytes in reverse order.
  (bytes) => Buffer.from(bytes).reverse(),
  // RFC 4122: the order in which a UUID is written.
  (bytes) => Buffer.from(bytes),
];

/**
 * The UUID in the usual notation; undefined if there is none. The first byte order that results in a valid version and
 * variant is used; otherwise that of SMBIOS.
 */
export function parseGuid(data: Buffer): string | undefined {
  const bytes = data.subarray(0, GUID_BYTES);
  if (bytes.length < GUID_BYTES) return undefined;
  if (bytes.every((byte) => byte === 0) || bytes.every((byte) => byte === 0xff)) return undefined;
  const readings = LAYOUTS.map((layout) => layout(bytes));
  const uuid = readings.find(isRfc4122) ?? readings[0];
  return uuid?.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function isRfc4122(uuid: Buffer): boolean {
  const version = uuid.readUInt8(6) >> 4;
  return version >= 1 && version <= 5 && (uuid.readUInt8(8) & 0xc0) === 0x80;
}
