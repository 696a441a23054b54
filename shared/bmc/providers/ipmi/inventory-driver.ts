import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import type { Hardware, InventoryDriver } from "../../operations/inventory.ts";
import { concernsOnePart, type Unread } from "../../operations/unread.ts";
import { type CommandChannel, dataOf, exchange, request } from "./channel.ts";
import {
  CANNOT_RETURN_SO_MANY,
  COMPLETED,
  OUT_OF_RANGE,
  REQUEST_TOO_LONG,
  WRONG_LENGTH,
} from "./completion-code.ts";
import { GET_DEVICE_ID, GET_SYSTEM_GUID, parseDeviceId, parseGuid, vendorOf } from "./device-id.ts";
import {
  FRU_HEADER_BYTES,
  type FruAreaInfo,
  type FruNames,
  fruAreaBytes,
  GET_FRU_AREA_INFO,
  parseBoardArea,
  parseChassisArea,
  parseFruAreaInfo,
  parseFruData,
  parseFruHeader,
  parseProductArea,
  readFruData,
} from "./fru.ts";

const LARGEST_READ_BYTES = 64;
const SMALLEST_READ_BYTES = 8;
/** What BMCs answer to a read that is larger than they can give. */
const TOO_MUCH = new Set([WRONG_LENGTH, REQUEST_TOO_LONG, OUT_OF_RANGE, CANNOT_RETURN_SO_MANY]);

/**
 * What IPMI reports about the hardware: maker, model and serial number from FRU 0 (product area, then board
 * area), chassis, mainboard, the system's UUID, the BMC's maker and firmware. Processors, memory, disks and NICs are
 * not in its reach.
 */
export class IpmiInventory implements InventoryDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  async read(signal: AbortSignal): Promise<Hardware> {
    const [device, guid] = await this.#channel.run([GET_DEVICE_ID, GET_SYSTEM_GUID], signal);
    const id = device && parseDeviceId(dataOf(device));
    const uuid = guid?.completionCode === COMPLETED ? parseGuid(guid.data) : undefined;
    const { system, ...names } = await this.#readNames(signal);
    return {
      system: { ...system, ...defined({ uuid }) },
      ...names,
      ...(id && { bmc: { vendor: vendorOf(id.manufacturer), firmware: id.firmware } }),
      processors: [],
      memory: [],
      disks: [],
      nics: [],
      firmware: id ? [{ name: "BMC", version: id.firmware }] : [],
    };
  }

  async #readNames(
    signal: AbortSignal,
  ): Promise<Pick<Hardware, "system" | "chassis" | "mainboard" | "unread">> {
    const unreadFru = (reason: string) => ({ system: {}, unread: [{ name: "FRU 0", reason }] });
    let fru: FruReader;
    let start: Buffer;
    try {
      const info = parseFruAreaInfo(await request(this.#channel, GET_FRU_AREA_INFO, signal));
      fru = new FruReader(this.#channel, info);
      start = await fru.read(0, FRU_HEADER_BYTES, signal);
    } catch (thrown) {
      const error = concernsOnePart(thrown);
      // There is none.
      if (error.class === "unsupported") throw error;
      return unreadFru(error.message);
    }
    // Not every machine's maker filled it.
    if (start.every((byte) => byte === 0 || byte === 0xff)) return { system: {} };
    const header = parseFruHeader(start);
    if (!header) return unreadFru("its header is no FRU header, or its checksum is wrong");
    const unread: Unread[] = [];
    const area = async (kind: keyof typeof header, parse: (area: Buffer) => FruNames | undefined) => {
      const offset = header[kind];
      if (offset === undefined) return undefined;
      const name = `${kind} area of FRU 0`;
      try {
        const names = parse(await fru.readArea(offset, signal));
        if (!names) unread.push({ name, reason: "it is cut short, or its checksum is wrong" });
        return names && Object.keys(names).length > 0 ? names : undefined;
      } catch (thrown) {
        unread.push({ name, reason: concernsOnePart(thrown).message });
        return undefined;
      }
    };
    const chassis = await area("chassis", parseChassisArea);
    const mainboard = await area("board", parseBoardArea);
    const product = await area("product", parseProductArea);
    const gaps = unread.length > 0 ? { unread } : {};
    return { system: { ...mainboard, ...product }, ...defined({ chassis, mainboard }), ...gaps };
  }
}

/** Reads from the FRU's storage in pieces that the BMC can give. */
class FruReader {
  readonly #channel: CommandChannel;
  readonly #info: FruAreaInfo;
  #largestBytes = LARGEST_READ_BYTES;

  constructor(channel: CommandChannel, info: FruAreaInfo) {
    this.#channel = channel;
    this.#info = info;
  }

  /** An area that says how long it is; what the storage does not hold is missing. */
  async readArea(offset: number, signal: AbortSignal): Promise<Buffer> {
    const start = await this.read(offset, FRU_HEADER_BYTES, signal);
    const rest = await this.read(offset + start.length, fruAreaBytes(start) - start.length, signal);
    return Buffer.concat([start, rest]);
  }

  async read(offset: number, bytes: number, signal: AbortSignal): Promise<Buffer> {
    const end = Math.min(offset + bytes, this.#info.bytes);
    const pieces: Buffer[] = [];
    for (let at = offset; at < end; ) {
      const piece = (await this.#readPiece(at, end - at, signal)).subarray(0, end - at);
      pieces.push(piece);
      at += piece.length;
    }
    return Buffer.concat(pieces);
  }

  async #readPiece(offset: number, bytes: number, signal: AbortSignal): Promise<Buffer> {
    const { unit } = this.#info;
    for (;;) {
      const count = Math.ceil(Math.min(bytes, this.#largestBytes) / unit);
      const answer = await exchange(this.#channel, readFruData(offset / unit, count), signal);
      if (!TOO_MUCH.has(answer.completionCode)) return parseFruData(dataOf(answer), unit);
      if (this.#largestBytes <= SMALLEST_READ_BYTES) {
        throw new BmcError("protocol", "Read FRU Data: the BMC cannot read even eight bytes at a time");
      }
      this.#largestBytes /= 2;
    }
  }
}
