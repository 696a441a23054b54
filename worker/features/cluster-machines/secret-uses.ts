import { requiredCredentials } from "../../../shared/contract/connection.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Reference, RufioConnection } from "./rufio-connection.ts";

const ALGORITHMS = { sha256: "sha256", "256": "sha256", sha512: "sha512", "512": "sha512" } as const;
export type Algorithm = (typeof ALGORITHMS)[keyof typeof ALGORITHMS];

/** The key in a Secret under which Rufio stores the secret that signs a webhook's requests (`retrieveHMACSecrets`). */
export const SIGNING_KEY = "secret";

export interface SigningUse {
  readonly algorithm: Algorithm;
  readonly secret: ObjectName;
}

export interface LoginUse {
  readonly secret: ObjectName;
  readonly keys: readonly ("username" | "password")[];
}

export function algorithmOf(name: string): Algorithm | undefined {
  return Object.entries(ALGORITHMS).find(([known]) => known === name)?.[1];
}

/** The Secret and keys for the login; undefined if the connection needs no login, such as a webhook. */
export function loginUse(
  { authSecretRef, providerOptions }: RufioConnection,
  namespace: string,
): LoginUse | undefined {
  const keys = requiredCredentials(providerOptions ?? {});
  const secret = keys.length > 0 ? nameOf(authSecretRef, namespace) : undefined;
  return secret && { secret, keys };
}

/** The Secrets that sign a webhook's requests, in the order of the object, which is the order of the signatures. */
export function signingUses({ providerOptions }: RufioConnection, namespace: string): readonly SigningUse[] {
  return Object.entries(providerOptions?.rpc?.hmac?.secrets ?? {}).flatMap(([name, references]) => {
    const algorithm = algorithmOf(name);
    return references.flatMap((reference) => {
      const secret = nameOf(reference, namespace);
      return algorithm && secret ? [{ algorithm, secret }] : [];
    });
  });
}

/** Resolves a reference. Without a namespace, it means the object's own namespace. */
function nameOf(reference: Reference | undefined, namespace: string): ObjectName | undefined {
  const { name } = reference ?? {};
  return name === undefined ? undefined : { name, namespace: reference?.namespace ?? namespace };
}
