import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import type { Secret } from "../../../secret.ts";
import { padKey, parseKg } from "./kg.ts";

/** IPMI 2.0 sections 22.28 and 22.30. */
export const USERNAME_BYTES = 16;
const PASSWORD_BYTES = 20;

/** Who logs in, in the form the handshake computes with. */
export interface Credentials {
  readonly username: Buffer;
  /** At most 20 bytes. */
  readonly password: Buffer;
  /** 20 bytes; absent when the BMC has no key of its own and the user's serves. */
  readonly kg: Buffer | undefined;
}

/** Throws `usage` for what IPMI cannot carry, so that nothing is sent and no account locks. */
export function readCredentials(connection: Connection, kg: Secret | undefined): Credentials {
  return {
    username: usernameBytes(connection.username ?? ""),
    password: passwordBytes(connection.password?.reveal() ?? ""),
    kg: kg && padKey(parseKg(kg.reveal())),
  };
}

/** Throws `usage` when it is longer than 16 bytes or holds a NUL. */
export function usernameBytes(name: string): Buffer {
  return limited("user name", name, USERNAME_BYTES);
}

/** Throws `usage` when it is longer than 20 bytes or holds a NUL. */
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
