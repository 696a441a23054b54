import type { ActionConnection, Connection } from "../../shared/contract/connection.ts";
import { Secret } from "../../shared/secret.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";
import { CLAIM_PREFIX } from "./resolve-machine.ts";

/**
 * Redacts the secrets of a connection and of the inputs that came with it. For the host of a claim, it also redacts the
 * address, which the claim's tenant must not learn.
 */
export function connectionRedactor(
  connection: Connection | undefined,
  secretInputs?: ActionConnection["secretInputs"],
): Redactor {
  const secrets = { ...connection, secretInputs };
  if (!connection?.machine?.startsWith(CLAIM_PREFIX)) return redactor(secrets);
  return redactor({ ...secrets, address: new Secret(connection.host) });
}
