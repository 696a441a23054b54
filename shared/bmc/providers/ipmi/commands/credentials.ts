import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Connection } from "../../../../contract/connection.ts";
import type { Secret } from "../../../../secret.ts";

/** The longest user name and password (IPMI 2.0 sections 22.28 and 22.30). */
export const USERNAME_BYTES = 16;
const PASSWORD_BYTES = 20;

export interface Credentials {
  readonly username: Buffer;
  /** At most 20 bytes. */
  readonly password: Buffer;
  /** 20 bytes; absent if the BMC has no key of its own and uses the user's. */
  readonly kg: Buffer | undefined;
}

/**
 * Reads the credentials. Throws `usage` for values that IPMI cannot carry, so that nothing is sent and no account is locked.
 */
export function readCredentials(connection: Connection, kg: Secret | undefined): Credentials {
  return {
    username: usernameBytes(connection.username ?? ""),
    password: passwordBytes(connection.password?.reveal() ?? ""),
    kg: kg && padKey(parseKg(kg.reveal())),
  };
}

/** Encodes a user name. Throws `usage` if it is longer than 16 bytes or contains a NUL. */
export function usernameBytes(name: string): Buffer {
  return limited("user name", name, USERNAME_BYTES);
}

/** Encodes a password. Throws `usage` if it is longer than 20 bytes or contains a NUL. */
export function passwordBytes(password: string): Buffer {
  return limited("password", password, PASSWORD_BYTES);
}

function limited(what: string, text: string, limit: number): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > limit) {
    throw new BmcError("usage", `the ${what} has ${bytes.length} bytes, IPMI takes at most ${limit}`);
  }
  if (bytes.includes(0)) throw new BmcError("usage", `the ${what} holds a NUL, which IPMI pads with`);
  return bytes;
}

/** IPMI 2.0 section 22.25: the key Kg has 160 bits. */
const KG_BYTES = 20;

/** Encodes the BMC key without padding: plain text, or hex after `0x`. Throws `usage`. */
export function parseKg(kg: string): Buffer {
  const hex = /^0x(.*)/is.exec(kg)?.[1];
  if (hex !== undefined && !/^([0-9a-f]{2})+$/i.test(hex)) {
    throw new BmcError("usage", "the BMC key Kg begins with 0x but is not hex with two digits per byte");
  }
  const bytes = hex === undefined ? Buffer.from(kg) : Buffer.from(hex, "hex");
  if (bytes.length > KG_BYTES) {
    throw new BmcError("usage", `the BMC key Kg has ${bytes.length} bytes, IPMI takes at most ${KG_BYTES}`);
  }
  return bytes;
}

/** Pads a key with zeros to 20 bytes, as keys are compared and used (section 13.31). */
export function padKey(bytes: Uint8Array): Buffer {
  const key = Buffer.alloc(KG_BYTES);
  key.set(bytes.subarray(0, KG_BYTES));
  return key;
}
