import * as z from "zod/mini";
import type { Cluster, Schema } from "../../cluster/client/cluster.ts";
import type { Kind, ObjectName } from "../../cluster/client/kinds.ts";
import { isKubernetesError } from "../../cluster/client/kubernetes-error.ts";

/** `same` is so already; `gone` is another object of that name, or none. */
export type Patched = "written" | "same" | "gone";

export interface StatusPatch<Status> {
  readonly kind: Kind;
  readonly name: ObjectName;
  /** Only this very object. */
  readonly uid: string;
  /** The object as it is read anew. */
  readonly schema: Schema<{
    readonly metadata: { readonly uid: string; readonly resourceVersion: string };
    readonly status: Status;
  }>;
  /** As it was seen last, which spares a request where it has not changed since. */
  readonly known?: { readonly resourceVersion: string; readonly status: Status };
  /** The fields of the status that are to be others; undefined where all is as it should be. */
  readonly change: (status: Status) => Readonly<Record<string, unknown>> | undefined;
}

/** Rufio, an operator and this worker may write at the same time; more often than that somebody writes all the time. */
const MOST_CONFLICTS = 5;

/**
 * Writes a status under the resource version that it was decided on (API conventions, "Concurrency control"): what somebody
 * else has written meanwhile is never overwritten, the change is decided anew. Rejects with a `KubernetesError`, and with what
 * `change` throws.
 */
export async function patchStatus<Status>(
  cluster: Pick<Cluster, "find" | "patch">,
  { kind, name, uid, schema, known, change }: StatusPatch<Status>,
  signal: AbortSignal,
): Promise<Patched> {
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
      if (!isKubernetesError(thrown, "conflict") || conflicts >= MOST_CONFLICTS) throw thrown;
      seen = undefined;
    }
  }
}
