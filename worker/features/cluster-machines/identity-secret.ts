import { decodeText, fileProblemOf } from "../../../shared/read-text-file.ts";
import { Secret } from "../../../shared/secret.ts";
import type { Selection } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import { SecretObject } from "./secret-values.ts";

/** The keys of a Secret that may hold a kubeconfig. Cluster API uses `value`. */
const KEYS = ["kubeconfig", "value"];

/** A kubeconfig, or the problem of its Secret, which completes a sentence that begins with the Secret's name. */
export type IdentityText = { readonly text: Secret } | { readonly problem: string };

/** Selects one object by name, which RBAC can allow with `resourceNames`. */
export function selectionOf({ namespace, name }: ObjectName): Selection {
  return { namespace, fieldSelector: `metadata.name=${name}` };
}

export function identityTextOf(secret: unknown): IdentityText {
  const { data } = SecretObject.safeParse(secret).data ?? {};
  const key = KEYS.find((name) => data && Object.hasOwn(data, name));
  if (key === undefined) return { problem: `has no key ${KEYS.join(" or ")}` };
  try {
    return { text: new Secret(decodeText(Buffer.from(data?.[key] ?? "", "base64"))) };
  } catch (thrown) {
    return { problem: `has a key ${key} that ${fileProblemOf(thrown)}` };
  }
}
