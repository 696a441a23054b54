import { BmcError } from "../../../contract/bmc-error.ts";
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
