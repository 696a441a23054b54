import type { Connection } from "../../contract/connection.ts";
import type { Secret } from "../../secret.ts";
import { BmcError } from "../errors.ts";
import { padKey, parseKg } from "./kg.ts";

/** IPMI 2.0 sections 22.28 and 22.30. */
const USERNAME_BYTES = 16;
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
    username: limited("user name", connection.username ?? "", USERNAME_BYTES),
    password: limited("password", connection.password?.reveal() ?? "", PASSWORD_BYTES),
    kg: kg && padKey(parseKg(kg.reveal())),
  };
}

function limited(what: string, text: string, limit: number): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > limit) {
    throw new BmcError("usage", `the ${what} has ${bytes.length} bytes, IPMI takes at most ${limit}`);
  }
  if (bytes.includes(0)) throw new BmcError("usage", `the ${what} holds a NUL, which IPMI pads with`);
  return bytes;
}
