import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/**
 * RMCP, RMCP+ and IPMI LAN messages as the BMC reads and writes them. Shares no code with the client, so that the same
 * mistake is not made on both sides.
 */

export interface SuiteAlgorithms {
  readonly hash: "sha1" | "sha256";
  readonly authentication: number;
  readonly integrity: number;
  readonly checkLength: number;
}

export const SUITES: Readonly<Record<3 | 17, SuiteAlgorithms>> = {
  3: { hash: "sha1", authentication: 1, integrity: 1, checkLength: 12 },
  17: { hash: "sha256", authentication: 3, integrity: 4, checkLength: 16 },
};

export const AES_CBC_128 = 1;

export function mac(suite: SuiteAlgorithms, key: Buffer, data: Buffer): Buffer {
  return createHmac(suite.hash, key).update(data).digest();
}

export type Datagram =
  | { readonly kind: "presence-ping"; readonly tag: number }
  /** IPMI 1.5 framing without authentication (session 0). */
  | { readonly kind: "v1.5"; readonly message: Buffer }
  | {
      readonly kind: "v2";
      readonly type: number;
      readonly encrypted: boolean;
      readonly authenticated: boolean;
      readonly session: number;
      readonly sequence: number;
      readonly payload: Buffer;
      /** The bytes that the check value covers, and the check value, if the packet is authenticated. */
      readonly raw: Buffer;
    };

export function readDatagram(bytes: Buffer): Datagram | undefined {
  if (bytes.length < 8 || bytes[0] !== 0x06) return undefined;
  if (bytes[3] === 0x06) return readPresencePing(bytes);
  if (bytes[3] !== 0x07) return undefined;
  if (bytes[4] === 0x00) return readVersion1(bytes);
  return bytes[4] === 0x06 ? readVersion2(bytes) : undefined;
}

/** Reads a presence ping (ASF 2.0 section 3.2.4.2). */
function readPresencePing(bytes: Buffer): Datagram | undefined {
  const isPing = bytes.length >= 12 && bytes.readUInt32BE(4) === 4542 && bytes[8] === 0x80;
  return isPing ? { kind: "presence-ping", tag: bytes.readUInt8(9) } : undefined;
}

function readVersion1(bytes: Buffer): Datagram | undefined {
  if (bytes.length < 14 || bytes.readUInt32LE(9) !== 0) return undefined;
  const length = bytes.readUInt8(13);
  return bytes.length >= 14 + length ? { kind: "v1.5", message: bytes.subarray(14, 14 + length) } : undefined;
}

function readVersion2(bytes: Buffer): Datagram | undefined {
  if (bytes.length < 16) return undefined;
  const length = bytes.readUInt16LE(14);
  if (bytes.length < 16 + length) return undefined;
  const kind = bytes.readUInt8(5);
  return {
    kind: "v2",
    encrypted: kind >= 0x80,
    authenticated: (kind & 0x40) > 0,
    type: kind % 0x40,
    session: bytes.readUInt32LE(6),
    sequence: bytes.readUInt32LE(10),
    payload: bytes.subarray(16, 16 + length),
    raw: bytes,
  };
}

export function writePong(tag: number): Buffer {
  const pong = Buffer.from("0600ff06000011be40000010000011be00000000810000000000000000000000", "hex");
  const answer = pong.subarray(0, 28);
  answer[9] = tag;
  return answer;
}

export function writeVersion1(message: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from("0600ff07000000000000000000", "hex"),
    Buffer.from([message.length]),
    message,
  ]);
}

export function writeHandshake(type: number, payload: Buffer): Buffer {
  const header = Buffer.from("0600ff07060000000000000000000000", "hex");
  header[5] = type;
  header.writeUInt16LE(payload.length, 14);
  return Buffer.concat([header, payload]);
}

export interface SessionCrypto {
  readonly suite: SuiteAlgorithms;
  readonly k1: Buffer;
  readonly k2: Buffer;
}

/** Returns the message inside a session's packet, or undefined if the check value, encryption or padding is wrong. */
export function unwrap(
  datagram: Extract<Datagram, { kind: "v2" }>,
  { suite, k1, k2 }: SessionCrypto,
): Buffer | undefined {
  if (!datagram.encrypted || !datagram.authenticated || datagram.type > 1) return undefined;
  const { raw, payload } = datagram;
  const checkAt = raw.length - suite.checkLength;
  if (checkAt < 18 + payload.length) return undefined;
  const padLength = raw.readUInt8(checkAt - 2);
  if (raw.readUInt8(checkAt - 1) !== 0x07 || (checkAt - 4) % 4 !== 0) return undefined;
  const pad = raw.subarray(checkAt - 2 - padLength, checkAt - 2);
  if (16 + payload.length + padLength + 2 !== checkAt || pad.some((byte) => byte !== 0xff)) return undefined;
  const expected = mac(suite, k1, raw.subarray(4, checkAt)).subarray(0, suite.checkLength);
  if (!expected.equals(raw.subarray(checkAt))) return undefined;
  if (payload.length < 32 || payload.length % 16 !== 0) return undefined;
  const aes = createDecipheriv("aes-128-cbc", k2.subarray(0, 16), payload.subarray(0, 16));
  aes.setAutoPadding(false);
  const clear = Buffer.concat([aes.update(payload.subarray(16)), aes.final()]);
  const length = clear.length - 1 - clear.readUInt8(clear.length - 1);
  if (length < 0) return undefined;
  const filler = clear.subarray(length, -1);
  return filler.every((byte, index) => byte === index + 1) ? clear.subarray(0, length) : undefined;
}

/** Wraps a payload. `type` is 0 for an IPMI message and 1 for serial over LAN. */
export function wrap(
  message: Buffer,
  session: number,
  sequence: number,
  crypto: SessionCrypto,
  type = 0,
): Buffer {
  const filler = (16 - ((message.length + 1) % 16)) % 16;
  const clear = Buffer.alloc(message.length + filler + 1);
  message.copy(clear);
  for (let index = 0; index < filler; index += 1) clear[message.length + index] = index + 1;
  clear[clear.length - 1] = filler;
  const iv = randomBytes(16);
  const aes = createCipheriv("aes-128-cbc", crypto.k2.subarray(0, 16), iv);
  aes.setAutoPadding(false);
  const payload = Buffer.concat([iv, aes.update(clear), aes.final()]);

  const header = Buffer.from("0600ff0706c000000000000000000000", "hex");
  header[5] = 0xc0 | type;
  header.writeUInt32LE(session, 6);
  header.writeUInt32LE(sequence, 10);
  header.writeUInt16LE(payload.length, 14);
  // Header (12 without RMCP), payload and the two closing bytes fill a multiple of four bytes.
  const pad = (4 - ((12 + payload.length + 2) % 4)) % 4;
  const body = Buffer.concat([header, payload, Buffer.alloc(pad, 0xff), Buffer.from([pad, 0x07])]);
  const check = mac(crypto.suite, crypto.k1, body.subarray(4)).subarray(0, crypto.suite.checkLength);
  return Buffer.concat([body, check]);
}

export interface Request {
  readonly netFn: number;
  readonly command: number;
  readonly data: Buffer;
  readonly sequence: number;
  /** The address and LUN bytes, which the answer swaps. */
  readonly target: number;
  readonly source: number;
  readonly luns: readonly [target: number, source: number];
}

export function readRequest(message: Buffer): Request | undefined {
  if (message.length < 7) return undefined;
  const sumsToZero = (part: Buffer) => part.reduce((sum, byte) => sum + byte, 0) % 256 === 0;
  if (!sumsToZero(message.subarray(0, 3)) || !sumsToZero(message.subarray(3))) return undefined;
  const netFn = message.readUInt8(1) >> 2;
  if (netFn % 2 === 1) return undefined;
  return {
    netFn,
    command: message.readUInt8(5),
    data: message.subarray(6, -1),
    sequence: message.readUInt8(4) >> 2,
    target: message.readUInt8(0),
    source: message.readUInt8(3),
    luns: [message.readUInt8(1) & 3, message.readUInt8(4) & 3],
  };
}

export function writeResponse(request: Request, completionCode: number, data: Buffer): Buffer {
  const [targetLun, sourceLun] = request.luns;
  const head = [request.source, ((request.netFn + 1) << 2) | sourceLun];
  const body = [
    request.target,
    (request.sequence << 2) | targetLun,
    request.command,
    completionCode,
    ...data,
  ];
  const zeroSum = (bytes: number[]) => (256 - (bytes.reduce((sum, byte) => sum + byte, 0) % 256)) % 256;
  return Buffer.from([...head, zeroSum(head), ...body, zeroSum(body)]);
}
