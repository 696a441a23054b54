import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Secret } from "../../../../secret.ts";

export interface Account {
  readonly username: string;
  readonly password: Secret;
}

/** The Authorization header of HTTP basic authentication (RFC 7617). */
export function basicAuthorization({ username, password }: Account): string {
  if (username.includes(":")) {
    throw new BmcError(
      "usage",
      "basic authentication cannot carry a user name with a colon: use redfish.auth session",
    );
  }
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`, "utf8").toString("base64")}`;
}
