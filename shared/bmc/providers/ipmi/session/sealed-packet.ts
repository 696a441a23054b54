import { createCipheriv, createDecipheriv } from "node:crypto";
import { type CipherSuite, hmac, sameBytes } from "./cipher-suite.ts";
import type { SessionKeys } from "./rakp.ts";
import { buildRmcp, PayloadType, parseRmcp, SESSION_HEADER_OFFSET } from "./rmcp.ts";

const BLOCK_BYTES = 16;
const NEXT_HEADER = 0x07;
const ALGORITHM = "aes-128-cbc";

/** The protection of packets in one direction of an established session. */
export interface Seal {
  readonly suite: CipherSuite;
  readonly keys: SessionKeys;
  /** The receiver's ID: the BMC's for sent packets, the console's for received ones. */
  readonly sessionId: number;
}

/** The payloads of an established session. */
export type SessionPayload = "ipmi" | "sol";

const SESSION_PAYLOADS: Readonly<Record<number, SessionPayload>> = {
  [PayloadType.ipmi]: "ipmi",
  [PayloadType.sol]: "sol",
};

/**
 * Builds an encrypted and authenticated RMCP+ packet (IPMI 2.0 section 13.6). `iv` is 16 random bytes that are never reused.
 */
export function sealMessage(
  seal: Seal,
  sequence: number,
  message: Buffer,
  iv: Buffer,
  payload: SessionPayload = "ipmi",
): Buffer {
  const packet = buildRmcp({
    payloadType: PayloadType[payload],
    encrypted: true,
    authenticated: true,
    sessionId: seal.sessionId,
    sequence,
    payload: encrypt(seal.keys.encryption, message, iv),
  });
  // The pad makes the length of the covered part, including pad length and next header, a multiple of 4 bytes.
  const padBytes = -(packet.length - SESSION_HEADER_OFFSET + 2) & 3;
  const padded = Buffer.concat([packet, Buffer.alloc(padBytes, 0xff), Buffer.from([padBytes, NEXT_HEADER])]);
  const check = hmac(seal.suite, seal.keys.integrity, padded.subarray(SESSION_HEADER_OFFSET));
  return Buffer.concat([padded, check.subarray(0, seal.suite.checkBytes)]);
}

export interface OpenedMessage {
  readonly payload: SessionPayload;
  readonly sequence: number;
  readonly message: Buffer;
}

/** Opens a packet; undefined unless it belongs to this session, is encrypted, and passes its integrity check. */
export function openMessage(seal: Seal, datagram: Buffer): OpenedMessage | undefined {
  const packet = parseRmcp(datagram);
  const payload = packet && SESSION_PAYLOADS[packet.payloadType];
  if (!payload || packet.sessionId !== seal.sessionId) return undefined;
  if (!packet.encrypted || !packet.authenticated) return undefined;
  const { checkBytes } = seal.suite;
  if (packet.trailer.length < checkBytes + 2) return undefined;
  const covered = datagram.subarray(SESSION_HEADER_OFFSET, -checkBytes);
  const expected = hmac(seal.suite, seal.keys.integrity, covered).subarray(0, checkBytes);
  if (!sameBytes(expected, packet.trailer.subarray(-checkBytes))) return undefined;
  const message = decrypt(seal.keys.encryption, packet.payload);
  return message && { payload, sequence: packet.sequence, message };
}

/** AES-CBC-128 payload (section 13.29): IV, then message, pad bytes 1, 2, 3..., pad length. */
function encrypt(key: Buffer, message: Buffer, iv: Buffer): Buffer {
  const padBytes = -(message.length + 1) & (BLOCK_BYTES - 1);
  const pad = Uint8Array.from({ length: padBytes + 1 }, (_, index) =>
    index === padBytes ? padBytes : index + 1,
  );
  const cipher = createCipheriv(ALGORITHM, key, iv).setAutoPadding(false);
  return Buffer.concat([iv, cipher.update(message), cipher.update(pad), cipher.final()]);
}

function decrypt(key: Buffer, payload: Buffer): Buffer | undefined {
  const blocks = payload.subarray(BLOCK_BYTES);
  if (blocks.length === 0 || blocks.length % BLOCK_BYTES !== 0) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, payload.subarray(0, BLOCK_BYTES)).setAutoPadding(false);
  const plain = Buffer.concat([decipher.update(blocks), decipher.final()]);
  const padBytes = plain.readUInt8(plain.length - 1);
  if (padBytes >= plain.length) return undefined;
  return plain.subarray(0, plain.length - 1 - padBytes);
}
