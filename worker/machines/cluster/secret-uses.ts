import { requiredCredentials } from "../../../shared/contract/connection.ts";
import type { ObjectName } from "../../cluster/client/kinds.ts";
import type { Reference, RufioConnection } from "./rufio-connection.ts";

const ALGORITHMS = { sha256: "sha256", "256": "sha256", sha512: "sha512", "512": "sha512" } as const;
export type Algorithm = (typeof ALGORITHMS)[keyof typeof ALGORITHMS];

/** The key of a Secret that a webhook's requests are signed with (Rufio, `retrieveHMACSecrets`). */
export const SIGNING_KEY = "secret";

/** A Secret that a webhook's requests are signed with. */
export interface SigningUse {
  readonly algorithm: Algorithm;
  readonly secret: ObjectName;
}

/** The Secret to log in with, and the keys of it that are needed. */
export interface LoginUse {
  readonly secret: ObjectName;
  readonly keys: readonly ("username" | "password")[];
}

export function algorithmOf(name: string): Algorithm | undefined {
  return Object.entries(ALGORITHMS).find(([known]) => known === name)?.[1];
}

/** Undefined where nothing is logged in to, as at a webhook, whatever Secret is named. */
export function loginUse(
  { authSecretRef, providerOptions }: RufioConnection,
  namespace: string,
): LoginUse | undefined {
  const keys = requiredCredentials(providerOptions ?? {});
  const secret = keys.length > 0 ? nameOf(authSecretRef, namespace) : undefined;
  return secret && { secret, keys };
}

/** In the object's order, so that a webhook sees its signatures in it. */
export function signingUses({ providerOptions }: RufioConnection, namespace: string): readonly SigningUse[] {
  return Object.entries(providerOptions?.rpc?.hmac?.secrets ?? {}).flatMap(([name, references]) => {
    const algorithm = algorithmOf(name);
    return references.flatMap((reference) => {
      const secret = nameOf(reference, namespace);
      return algorithm && secret ? [{ algorithm, secret }] : [];
    });
  });
}

/** A reference without a namespace stays in the object's own. */
function nameOf(reference: Reference | undefined, namespace: string): ObjectName | undefined {
  const { name } = reference ?? {};
  return name === undefined ? undefined : { name, namespace: reference?.namespace ?? namespace };
}
