import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { type IronicOptions, usesKeystone } from "../../../contract/ironic-options.ts";
import type { Secret } from "../../../secret.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import { headerSecret, Keystone } from "./keystone.ts";

/** The authentication of requests to Ironic. */
export interface Authentication {
  headers(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Call this after a 401. Returns true if the next headers differ. */
  expire(): boolean;
  /** Removes the secret from a text of the server. */
  redact(text: string): string;
  /** The number of requests to other services. */
  roundTrips(): number;
}

/** Selects the authentication. Throws `usage` if the connection lacks what the method needs. */
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
  // A user name cannot contain a colon (RFC 7617 section 2).
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

/** Uses a token until Ironic refuses it, which means that it has expired or was revoked. */
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
