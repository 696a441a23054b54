import { BmcError } from "../../../contract/bmc-error.ts";
import { ipmiCommand, NetFn } from "./command.ts";
import vendors from "./vendors.json" with { type: "json" };

/** Get Device ID (IPMI 2.0 section 20.1). */
export const GET_DEVICE_ID = ipmiCommand("Get Device ID", NetFn.app, 0x01);

export interface DeviceId {
  /** Such as `2.10`; the second part is two BCD digits. */
  readonly firmware: string;
  /** Such as `2.0`. */
  readonly ipmiVersion: string;
  /** IANA enterprise number. */
  readonly manufacturer: number;
  readonly product: number;
}

/** Throws `protocol` when the answer is shorter than IPMI 1.0 had it. */
export function parseDeviceId(data: Buffer): DeviceId {
  if (data.length < 11) throw new BmcError("protocol", "Get Device ID: the answer is shorter than 11 bytes");
  const version = data.readUInt8(4);
  return {
    firmware: `${data.readUInt8(2) & 0x7f}.${data.readUInt8(3).toString(16).padStart(2, "0")}`,
    // BCD, the least significant digit first.
    ipmiVersion: `${version & 0x0f}.${version >> 4}`,
    manufacturer: data.readUIntLE(6, 3) & 0x0f_ff_ff,
    product: data.readUInt16LE(9),
  };
}

/** The manufacturer's IANA enterprise number out of a Get Device ID answer; undefined when it is short. */
export function parseManufacturer(data: Buffer): number | undefined {
  return data.length >= 9 ? data.readUIntLE(6, 3) & 0x0f_ff_ff : undefined;
}

/** IANA enterprise numbers that BMCs in the field report. */
const VENDORS: Readonly<Record<string, string>> = vendors;

/** For people; a manufacturer that is not known here by its number. */
export function vendorOf(manufacturer: number): string {
  return VENDORS[manufacturer] ?? `enterprise ${manufacturer}`;
}
