import type { Connection } from "../../shared/contract/connection.ts";
import { Secret } from "../../shared/secret.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";
import { CLAIM_PREFIX } from "./resolve-machine.ts";

/** Redacts the secrets of a connection, and of a claim's host also its address, which the claim's tenant must not learn. */
export function connectionRedactor(connection: Connection | undefined): Redactor {
  if (!connection?.machine?.startsWith(CLAIM_PREFIX)) return redactor(connection ?? {});
  return redactor({ ...connection, address: new Secret(connection.host) });
}
