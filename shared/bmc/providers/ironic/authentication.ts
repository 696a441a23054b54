import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import { type IronicOptions, usesKeystone } from "../../../contract/ironic-options.ts";
import { Secret } from "../../../secret.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import { Keystone } from "./keystone.ts";

/** How requests to Ironic prove who asks. */
export interface Authentication {
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** To be called after a 401; true if the next headers are others. */
  expire(): boolean;
  /** Takes the secret out of what the server says. */
  redact(text: string): string;
  /** Requests to other services. */
  roundTrips(): number;
}

/** Throws `usage` where the connection lacks what the method needs. */
export function authenticationOf(
  { auth, keystone }: Pick<IronicOptions, "auth" | "keystone">,
  connection: Connection,
  context: ProviderContext,
): Authentication {
  const { username, password } = connection;
  if (auth === "none") return fixed({}, []);
  if (!password) throw new BmcError("usage", "password is missing: ironic.auth needs it");
  if (auth === "token") {
    const token = headerSecret("password", password.reveal(), "usage");
    return fixed({ "x-auth-token": token.reveal() }, [token]);
  }
  if (!username) throw new BmcError("usage", "username is missing: ironic.auth needs it");
  if (usesKeystone(auth)) {
    if (!keystone) throw new BmcError("usage", "ironic.keystone is missing");
    return tokens(new Keystone(keystone, { method: auth, username, password }, connection, context));
  }
  // RFC 7617 section 2.
  if (username.includes(":")) throw new BmcError("usage", "username must not contain a colon");
  const encoded = Buffer.from(`${username}:${password.reveal()}`).toString("base64");
  return fixed({ authorization: `Basic ${encoded}` }, [password]);
}

function fixed(headers: Readonly<Record<string, string>>, secrets: readonly Secret[]): Authentication {
  return {
    headers: async () => headers,
    expire: () => false,
    redact: (text) => secrets.reduce((left, secret) => left.replaceAll(secret.reveal(), "[redacted]"), text),
    roundTrips: () => 0,
  };
}

/** A token serves until Ironic refuses it: that is when it expires, or is revoked. */
function tokens(keystone: Keystone): Authentication {
  let token: Secret | undefined;
  return {
    async headers(signal) {
      token ??= await keystone.requestToken(signal);
      return { "x-auth-token": token.reveal() };
    },
    expire() {
      token = undefined;
      return true;
    },
    redact: (text) => (token ? text.replaceAll(token.reveal(), "[redacted]") : text),
    roundTrips: () => keystone.roundTrips,
  };
}

/** A token that goes into a header: one word of visible ASCII. */
export function headerSecret(what: string, text: string, errorClass: ErrorClass): Secret {
  if (/^[\x21-\x7e]{1,16384}$/.test(text)) return new Secret(text);
  throw new BmcError(errorClass, `${what} is not a token: it must be one word of plain ASCII`);
}
