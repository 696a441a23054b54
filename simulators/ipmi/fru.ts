import type { Reply } from "./reply.ts";

/** The identifying data of the machine. */
export interface SimulatedFru {
  readonly vendor: string;
  readonly model: string;
  readonly serial: string;
  readonly boardSerial: string;
  readonly chassisSerial: string;
}

const RACK_MOUNT = 23;

/** Makes FRU 0: common header, chassis area, board area, product area (Platform Management FRU Information Storage 1.0). */
export function writeFru({ vendor, model, serial, boardSerial, chassisSerial }: SimulatedFru): Buffer {
  const chassis = area([1, 0, RACK_MOUNT], ["CHASSIS-1", chassisSerial]);
  const board = area([1, 0, 25, 0, 0, 0], [vendor, `${model} board`, boardSerial, "PART-1", ""]);
  const product = area([1, 0, 25], [vendor, model, "PART-2", "1.0", serial, "", ""]);
  const boardAt = 1 + chassis.length / 8;
  const header = Buffer.from([1, 0, 1, boardAt, boardAt + board.length / 8, 0, 0, 0]);
  header[7] = zeroSum(header);
  return Buffer.concat([header, chassis, board, product]);
}

function area(start: readonly number[], texts: readonly string[]): Buffer {
  const fields = texts.flatMap((text) => [0xc0 | text.length, ...Buffer.from(text, "latin1")]);
  const content = [...start, ...fields, 0xc1];
  const bytes = Buffer.alloc(Math.ceil((content.length + 1) / 8) * 8);
  bytes.set(content);
  bytes[1] = bytes.length / 8;
  bytes[bytes.length - 1] = zeroSum(bytes);
  return bytes;
}

function zeroSum(bytes: Buffer): number {
  return (256 - (bytes.reduce((sum, byte) => sum + byte, 0) % 256)) % 256;
}

/** Answers Read FRU Data with at most `partBytes` per answer. */
export function readFru(fru: Buffer, data: Buffer, partBytes: number): Reply {
  if (data.length !== 4) return { code: 0xc7 };
  if (data[0] !== 0) return { code: 0xcb };
  const offset = data.readUInt16LE(1);
  const count = data.readUInt8(3);
  if (count > partBytes) return { code: 0xca };
  if (offset >= fru.length) return { code: 0xc9 };
  const bytes = fru.subarray(offset, offset + count);
  return { data: Buffer.concat([Buffer.of(bytes.length), bytes]) };
}
