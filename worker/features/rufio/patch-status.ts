import * as z from "zod/mini";
import type { Cluster, Schema } from "../../kubernetes/client/cluster.ts";
import type { Kind, ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";

interface Patchable<Status> {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly uid: string;
  /** Parses the object when it is read again. */
  readonly schema: Schema<{
    readonly metadata: { readonly uid: string; readonly resourceVersion: string };
    readonly status: Status;
  }>;
  /** The last known state, which saves a request if the object has not changed. */
  readonly known?: { readonly resourceVersion: string; readonly status: Status };
}

/** Rufio, an operator and this worker may write concurrently; more conflicts mean that something writes all the time. */
const MAX_CONFLICTS = 5;

/**
 * Patches a status (`same`: nothing to change; `gone`: the object was deleted or replaced) with optimistic locking by resource
 * version (API conventions, "Concurrency control"): after a conflict the change is decided again. `change` returns the status
 * fields to change; undefined if there are none. Rejects with a `KubernetesError`, and with the error of `change`.
 */
export async function patchStatus<Status>(
  cluster: Pick<Cluster, "find" | "patch">,
  { kind, name, uid, schema, known }: Patchable<Status>,
  change: (status: Status) => Readonly<Record<string, unknown>> | undefined,
  signal: AbortSignal,
): Promise<"written" | "same" | "gone"> {
  let seen = known;
  for (let conflicts = 0; ; conflicts++) {
    if (!seen) {
      const found = await cluster.find(kind, name, schema, signal);
      if (found?.metadata.uid !== uid) return "gone";
      seen = { resourceVersion: found.metadata.resourceVersion, status: found.status };
    }
    const status = change(seen.status);
    if (!status) return "same";
    const body = { metadata: { resourceVersion: seen.resourceVersion }, status };
    try {
      await cluster.patch(kind, name, { type: "merge", body, subresource: "status" }, z.unknown(), signal);
      return "written";
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return "gone";
      if (!isKubernetesError(thrown, "conflict") || conflicts >= MAX_CONFLICTS) throw thrown;
      seen = undefined;
    }
  }
}
