import { createHmac, timingSafeEqual } from "node:crypto";

export type CipherSuiteId = 3 | 17;

/** The algorithms of one cipher suite (IPMI 2.0 table 22-20). Both encrypt with AES-CBC-128. */
export interface CipherSuite {
  readonly id: CipherSuiteId;
  readonly hash: "sha1" | "sha256";
  /** Algorithm numbers of Open Session (tables 13-17 to 13-19). */
  readonly authentication: number;
  readonly integrity: number;
  readonly confidentiality: number;
  /** Bytes of a whole HMAC. */
  readonly hmacBytes: number;
  /** Bytes that remain of an HMAC in RAKP4 and in the trailer of a packet. */
  readonly checkBytes: number;
}

const CIPHER_SUITES: Readonly<Record<CipherSuiteId, CipherSuite>> = {
  3: {
    id: 3,
    hash: "sha1",
    authentication: 0x01,
    integrity: 0x01,
    confidentiality: 0x01,
    hmacBytes: 20,
    checkBytes: 12,
  },
  17: {
    id: 17,
    hash: "sha256",
    authentication: 0x03,
    integrity: 0x04,
    confidentiality: 0x01,
    hmacBytes: 32,
    checkBytes: 16,
  },
};

/**
 * The suites to try, best first. A suite the operator chose stands alone; one that worked before goes first.
 */
export function cipherSuitesToTry(chosen?: CipherSuiteId, remembered?: CipherSuiteId): CipherSuite[] {
  if (chosen !== undefined) return [CIPHER_SUITES[chosen]];
  const strongestFirst: CipherSuiteId[] = remembered === 3 ? [3, 17] : [17, 3];
  return strongestFirst.map((id) => CIPHER_SUITES[id]);
}

/** HMAC of the parts in order, with the suite's hash. */
export function hmac(suite: CipherSuite, key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const mac = createHmac(suite.hash, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** The comparison takes the same time wherever the two differ; values of different lengths differ. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
