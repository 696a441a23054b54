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
  /** The number of bytes of a whole HMAC. */
  readonly hmacBytes: number;
  /** The number of bytes of an HMAC in RAKP4 and in the trailer of a packet. */
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

/** The cipher suite options of a machine's entry. */
export interface SuiteChoice {
  readonly cipherSuite?: CipherSuiteId | undefined;
  readonly allowSuite3: boolean;
}

export interface SuitePlan {
  /**
   * Suites to request, the best first. A suite that is not allowed is requested only to learn what the BMC offers; no proof
   * is sent with it.
   */
  readonly asked: readonly CipherSuite[];
  /** The suites that a session may use. */
  readonly allowed: ReadonlySet<CipherSuiteId>;
}

/**
 * Plans the suites: the configured one alone; otherwise 17, and 3 only if the entry allows it, because an attacker between
 * worker and BMC can have 17 refused. A suite that worked before comes first.
 */
export function suitePlan({ cipherSuite, allowSuite3 }: SuiteChoice, remembered?: CipherSuiteId): SuitePlan {
  if (cipherSuite !== undefined) return planOf([cipherSuite], [cipherSuite]);
  if (!allowSuite3) return planOf([17, 3], [17]);
  return planOf(remembered === 3 ? [3, 17] : [17, 3], [17, 3]);
}

function planOf(asked: readonly CipherSuiteId[], allowed: readonly CipherSuiteId[]): SuitePlan {
  return { asked: asked.map((id) => CIPHER_SUITES[id]), allowed: new Set(allowed) };
}

/** Whether a suite is weaker than the entry requires. */
export function isDowngrade({ cipherSuite }: SuiteChoice, used: CipherSuiteId | undefined): boolean {
  return cipherSuite === undefined && used === 3;
}

/** How to allow suite 3 in a machine's entry. */
export function suite3Remedy(provider: "ipmi" | "ipmitool"): string {
  return (
    "to accept suite 3 (SHA-1), which is weaker, use " +
    `--${provider}-allow-suite-3, ${provider.toUpperCase()}_ALLOW_SUITE_3=true or, in the inventory, ` +
    `${provider}: {allowSuite3: true}`
  );
}

export function hmac(suite: CipherSuite, key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const mac = createHmac(suite.hash, key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Compares in constant time, wherever the values differ. Values of different lengths are unequal. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
