import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Account } from "./authentication.ts";

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
