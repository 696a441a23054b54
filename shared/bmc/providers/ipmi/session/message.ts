/** The BMC's address on its management bus, and that of a remote console (IPMI 2.0 table 5-4). */
export const BMC_ADDRESS = 0x20;
export const CONSOLE_ADDRESS = 0x81;

export interface LanRequest {
  readonly netFn: number;
  readonly command: number;
  /** 0 to 63. */
  readonly sequence: number;
  readonly data: Uint8Array;
}

export interface LanResponse {
  /** The slave address of the controller that answers. */
  readonly responder: number;
  /** The even NetFn of the answered request. */
  readonly netFn: number;
  readonly command: number;
  readonly sequence: number;
  readonly completionCode: number;
  readonly data: Buffer;
}

/** Builds an IPMI LAN request message with both checksums (IPMI 2.0 section 13.8). */
export function buildLanRequest(request: LanRequest): Buffer {
  return buildRequest(request, BMC_ADDRESS, CONSOLE_ADDRESS);
}

/** Builds a request message that the BMC forwards over one of its buses (IPMB 1.0 section 2.11.1). */
export function buildIpmbRequest(request: LanRequest, targetAddress: number): Buffer {
  return buildRequest(request, targetAddress, BMC_ADDRESS);
}

function buildRequest({ netFn, command, sequence, data }: LanRequest, to: number, from: number): Buffer {
  const head = [to, netFn << 2];
  const body = [from, sequence << 2, command, ...data];
  return Buffer.from([...head, checksum(head), ...body, checksum(body)]);
}

/** Parses a response; undefined if the message is too short, fails a checksum or is not a response. */
export function parseLanResponse(message: Buffer): LanResponse | undefined {
  if (checksum(message.subarray(0, 2)) !== message[2]) return undefined;
  if (checksum(message.subarray(3, -1)) !== message.at(-1)) return undefined;
  return parseProvenResponse(message);
}

/**
 * Parses the response in a packet that the session's integrity check has proven. Its checksums are ignored, because
 * Supermicro X9 boards send wrong ones. Undefined if the message is too short or is not a response.
 */
export function parseProvenResponse(message: Buffer): LanResponse | undefined {
  if (message.length < 8) return undefined;
  const netFn = message.readUInt8(1) >> 2;
  if ((netFn & 1) === 0) return undefined;
  return {
    responder: message.readUInt8(3),
    netFn: netFn - 1,
    sequence: message.readUInt8(4) >> 2,
    command: message.readUInt8(5),
    completionCode: message.readUInt8(6),
    data: message.subarray(7, -1),
  };
}

/** The two's complement of the sum, so that bytes and checksum add up to zero. */
export function checksum(bytes: Iterable<number>): number {
  let sum = 0;
  for (const byte of bytes) sum += byte;
  return -sum & 0xff;
}
