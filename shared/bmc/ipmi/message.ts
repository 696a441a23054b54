/** The BMC's own address on its management bus, and the one a remote console uses (IPMI 2.0 table 5-4). */
const BMC_ADDRESS = 0x20;
const CONSOLE_ADDRESS = 0x81;

export interface LanRequest {
  readonly netFn: number;
  readonly command: number;
  /** 0 to 63. */
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface LanResponse {
  /** Of the request that is answered: even. */
  readonly netFn: number;
  readonly command: number;
  readonly sequence: number;
  readonly completionCode: number;
  readonly data: Buffer;
}

/** An IPMI LAN request message with both checksums (IPMI 2.0 section 13.8). */
export function buildLanRequest({ netFn, command, sequence, data }: LanRequest): Buffer {
  const head = [BMC_ADDRESS, netFn << 2];
  const body = [CONSOLE_ADDRESS, sequence << 2, command, ...data];
  return Buffer.from([...head, checksum(head), ...body, checksum(body)]);
}

/** Undefined when the message is short, fails a checksum or is no response. */
export function parseLanResponse(message: Buffer): LanResponse | undefined {
  if (message.length < 8) return undefined;
  if (checksum(message.subarray(0, 2)) !== message[2]) return undefined;
  if (checksum(message.subarray(3, -1)) !== message.at(-1)) return undefined;
  const netFn = message.readUInt8(1) >> 2;
  if ((netFn & 1) === 0) return undefined;
  return {
    netFn: netFn - 1,
    sequence: message.readUInt8(4) >> 2,
    command: message.readUInt8(5),
    completionCode: message.readUInt8(6),
    data: message.subarray(7, -1),
  };
}

/** Two's complement of the sum: bytes and checksum add up to zero. */
export function checksum(bytes: Iterable<number>): number {
  let sum = 0;
  for (const byte of bytes) sum += byte;
  return -sum & 0xff;
}
