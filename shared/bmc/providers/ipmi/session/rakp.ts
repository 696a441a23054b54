import { PRIVILEGE_LEVELS, type Privilege } from "../commands/command.ts";
import { type CipherSuite, hmac, sameBytes } from "./cipher-suite.ts";

/**
 * Looks up the user by name alone (IPMI 2.0 section 13.20, byte 25 bit 4). The pair of user name and role need then not be
 * unique, and the role only limits the session's level.
 */
const NAME_ONLY_LOOKUP = 0x10;
const LEVEL_MASK = 0x0f;
const K1_CONSTANT = Buffer.alloc(20, 0x01);
const K2_CONSTANT = Buffer.alloc(20, 0x02);
const AES_KEY_BYTES = 16;

/** The values from both sides before any key is used. */
export interface RakpExchange {
  readonly consoleId: number;
  readonly bmcId: number;
  /** 16 bytes each. */
  readonly consoleRandom: Buffer;
  readonly bmcRandom: Buffer;
  readonly guid: Buffer;
  /** The whole byte, as sent in RAKP1. */
  readonly role: number;
  readonly username: Buffer;
}

/** Keys of an established session (section 13.31, 13.32). */
export interface SessionKeys {
  readonly sik: Buffer;
  readonly integrity: Buffer;
  readonly encryption: Buffer;
}

export function roleByte(privilege: Privilege): number {
  return PRIVILEGE_LEVELS[privilege] | NAME_ONLY_LOOKUP;
}

export interface Rakp1 {
  readonly tag: number;
  readonly bmcId: number;
  readonly consoleRandom: Buffer;
  readonly role: number;
  readonly username: Buffer;
}

/** Builds RAKP Message 1 (section 13.20): 28 bytes and the user name. */
export function buildRakp1({ tag, bmcId, consoleRandom, role, username }: Rakp1): Buffer {
  const head = Buffer.alloc(8);
  head[0] = tag;
  head.writeUInt32LE(bmcId, 4);
  return Buffer.concat([head, consoleRandom, Buffer.from([role, 0, 0, username.length]), username]);
}

export interface Rakp2 {
  readonly bmcRandom: Buffer;
  readonly guid: Buffer;
  readonly authCode: Buffer;
}

/** Parses RAKP Message 2 without error (section 13.21); undefined if it is malformed. */
export function parseRakp2(payload: Buffer, suite: CipherSuite): Rakp2 | undefined {
  if (payload.length < 40 + suite.hmacBytes) return undefined;
  return {
    bmcRandom: payload.subarray(8, 24),
    guid: payload.subarray(24, 40),
    authCode: payload.subarray(40, 40 + suite.hmacBytes),
  };
}

/** Whether the BMC knows the password: the check of RAKP Message 2. */
export function provesPassword(
  suite: CipherSuite,
  kuid: Buffer,
  exchange: RakpExchange,
  authCode: Buffer,
): boolean {
  const { consoleId, bmcId, consoleRandom, bmcRandom, guid } = exchange;
  const expected = hmac(
    suite,
    kuid,
    uint32(consoleId),
    uint32(bmcId),
    consoleRandom,
    bmcRandom,
    guid,
    identity(exchange),
  );
  return sameBytes(expected, authCode);
}

/**
 * The form of the role in RAKP Message 3: the whole byte of RAKP1, as specified, or its level alone, as some BMCs check it.
 * The keys use the whole byte with both.
 */
export type Rakp3Role = "whole" | "level";

/** Builds RAKP Message 3 (section 13.22), which proves the password to the BMC. */
export function buildRakp3(
  suite: CipherSuite,
  kuid: Buffer,
  exchange: RakpExchange,
  { tag, counts }: { readonly tag: number; readonly counts: Rakp3Role },
): Buffer {
  const { consoleId, bmcId, bmcRandom, role } = exchange;
  const proven = { ...exchange, role: counts === "level" ? role & LEVEL_MASK : role };
  return Buffer.concat([
    rakp3Head(tag, 0, bmcId),
    hmac(suite, kuid, bmcRandom, uint32(consoleId), identity(proven)),
  ]);
}

/** Builds RAKP Message 3 with an error status, so that the BMC drops a session that is not established yet. */
export function buildRakp3Refusal(tag: number, status: number, bmcId: number): Buffer {
  return rakp3Head(tag, status, bmcId);
}

/** Derives the session's keys. `kg` is the BMC key, or the user's if the BMC has none (section 13.31). */
export function deriveKeys(suite: CipherSuite, kg: Buffer, exchange: RakpExchange): SessionKeys {
  const sik = hmac(suite, kg, exchange.consoleRandom, exchange.bmcRandom, identity(exchange));
  return {
    sik,
    integrity: hmac(suite, sik, K1_CONSTANT),
    encryption: hmac(suite, sik, K2_CONSTANT).subarray(0, AES_KEY_BYTES),
  };
}

/** Whether the BMC derived the same keys: the check of RAKP Message 4 (section 13.23). */
export function provesKeys(
  suite: CipherSuite,
  sik: Buffer,
  exchange: RakpExchange,
  payload: Buffer,
): boolean {
  const expected = hmac(suite, sik, exchange.consoleRandom, uint32(exchange.bmcId), exchange.guid);
  // Some BMCs append more bytes than specified; these come last.
  return sameBytes(expected.subarray(0, suite.checkBytes), payload.subarray(8, 8 + suite.checkBytes));
}

function rakp3Head(tag: number, status: number, bmcId: number): Buffer {
  const head = Buffer.alloc(8);
  head[0] = tag;
  head[1] = status;
  head.writeUInt32LE(bmcId, 4);
  return head;
}

function identity({ role, username }: RakpExchange): Buffer {
  return Buffer.concat([Buffer.from([role, username.length]), username]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
