import { defined } from "../../../../defined.ts";
import type { Hardware, InventoryDriver } from "../../../operations/inventory.ts";
import type { Unread } from "../../../operations/unread.ts";
import {
  type Answer,
  type CommandChannel,
  dataOf,
  exchange,
  PartRefusals,
  request,
  UnansweredCommand,
} from "../commands/channel.ts";
import type { Command } from "../commands/command.ts";
import { COMPLETED, TOO_LARGE } from "../commands/completion-code.ts";
import { GET_DEVICE_ID, GET_SYSTEM_GUID, parseDeviceId, parseGuid, vendorOf } from "../commands/device-id.ts";
import {
  FRU_HEADER_BYTES,
  type FruArea,
  type FruAreaInfo,
  type FruHeader,
  fruAreaBytes,
  GET_FRU_AREA_INFO,
  parseBoardArea,
  parseChassisArea,
  parseFruAreaInfo,
  parseFruData,
  parseFruHeader,
  parseProductArea,
  readFruData,
} from "../records/fru.ts";

const LARGEST_READ_BYTES = 64;
const SMALLEST_READ_BYTES = 8;

/**
 * Reads the hardware data of IPMI: vendor, model and serial number from FRU 0 (product area, then board area), chassis,
 * mainboard, the system's UUID, the BMC's vendor and firmware. Processors, memory, disks and NICs are not available.
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
    const parts = new PartRefusals();
    let fru: FruReader;
    let start: Buffer;
    try {
      const info = parseFruAreaInfo(await request(this.#channel, GET_FRU_AREA_INFO, signal));
      fru = new FruReader(this.#channel, info);
      start = await fru.read(0, FRU_HEADER_BYTES, signal);
    } catch (thrown) {
      const error = parts.of(thrown);
      // There is no FRU.
      if (error.class === "unsupported") throw error;
      return unreadFru(error.message);
    }
    // Not every vendor filled the FRU.
    if (start.every((byte) => byte === 0 || byte === 0xff)) return { system: {} };
    const header = parseFruHeader(start);
    if (!header) return unreadFru("its header is no FRU header");
    const unread: Unread[] = [];
    if (header.hasWrongChecksum)
      unread.push({ name: "header of FRU 0", reason: `${WRONG_CHECKSUM}${MAY_BE_WRONG}` });
    const area = async (kind: keyof FruHeader["areas"], parse: (area: Buffer) => FruArea | undefined) => {
      const offset = header.areas[kind];
      if (offset === undefined) return undefined;
      const name = `${kind} area of FRU 0`;
      try {
        const { bytes, refusal } = await fru.readArea(offset, signal);
        const read = parse(bytes);
        if (!read && refusal) throw refusal;
        const doubt = read ? read.doubt && `${read.doubt}${MAY_BE_WRONG}` : "it is no such area";
        if (doubt) unread.push({ name, reason: refusal ? `${doubt}: ${parts.of(refusal).message}` : doubt });
        return read && Object.keys(read.names).length > 0 ? read.names : undefined;
      } catch (thrown) {
        unread.push({ name, reason: parts.of(thrown).message });
        return undefined;
      }
    };
    const chassis = await area("chassis", parseChassisArea);
    const mainboard = await area("board", parseBoardArea);
    const product = await area("product", parseProductArea);
    const gaps = unread.length > 0 ? { unread } : {};
    // The board's serial number differs from the system's. It is used only if the system certainly has none of its own.
    const isOwnUnread = unread.some(({ name }) => name.startsWith("product"));
    const system = isOwnUnread ? { ...product } : { ...mainboard, ...product };
    return { system, ...defined({ chassis, mainboard }), ...gaps };
  }
}

const WRONG_CHECKSUM = "its checksum is wrong";
const MAY_BE_WRONG = ", so that what is shown of it may be wrong or not all";

/** Reads the FRU's storage in pieces that the BMC can return. */
class FruReader {
  readonly #channel: CommandChannel;
  readonly #info: FruAreaInfo;
  #largestBytes = LARGEST_READ_BYTES;

  constructor(channel: CommandChannel, info: FruAreaInfo) {
    this.#channel = channel;
    this.#info = info;
  }

  /** Reads an area with its length. Data that the storage lacks or the BMC refuses is missing. */
  async readArea(
    offset: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Buffer; readonly refusal?: unknown }> {
    const start = await this.read(offset, FRU_HEADER_BYTES, signal);
    const pieces = [start];
    const end = offset + fruAreaBytes(start);
    try {
      for (let at = offset + start.length; at < end; ) {
        const piece = await this.read(at, Math.min(end - at, this.#largestBytes), signal);
        if (piece.length === 0) break;
        pieces.push(piece);
        at += piece.length;
      }
      return { bytes: Buffer.concat(pieces) };
    } catch (refusal) {
      return { bytes: Buffer.concat(pieces), refusal };
    }
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
      const isSmallest = count * unit <= SMALLEST_READ_BYTES;
      const answer = await this.#exchange(readFruData(offset / unit, count), isSmallest, signal);
      if (answer && (isSmallest || !TOO_LARGE.has(answer.completionCode)))
        return parseFruData(dataOf(answer), unit);
      this.#largestBytes = answer ? this.#largestBytes / 2 : SMALLEST_READ_BYTES;
    }
  }

  /** Reads a piece; undefined if the BMC was silent, which is how some refuse a read that is too large. */
  async #exchange(command: Command, isSmallest: boolean, signal: AbortSignal): Promise<Answer | undefined> {
    try {
      return await exchange(this.#channel, command, signal);
    } catch (thrown) {
      if (thrown instanceof UnansweredCommand && !isSmallest) return undefined;
      throw thrown;
    }
  }
}
