import * as z from "zod/mini";
import type { Cluster, Schema } from "../../kubernetes/client/cluster.ts";
import type { Kind, ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { OpenTask, RufioApi, RufioTask, SeenTask, TaskChange } from "./rufio-api.ts";

interface Patchable<Status> {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly uid: string;
  /** Parses the object if it has to be read. */
  readonly schema: Schema<{
    readonly metadata: { readonly uid: string; readonly resourceVersion: string };
    readonly status: Status;
  }>;
  /** The last known state, which saves a read if the object has not changed. */
  readonly known?: { readonly resourceVersion: string; readonly status: Status } | undefined;
}

/** The most conflicts with other writers, such as Rufio or an operator. More of them mean that something writes all the time. */
const MAX_CONFLICTS = 5;

/**
 * Patches the status of an object with optimistic locking by resource version (API conventions, "Concurrency control"). After
 * a conflict, reads the object and calls `change` again. `change` returns the status fields to change; undefined if there are
 * none. Resolves to `same` if there was nothing to change, and to `gone` if the object was deleted or replaced. Rejects with a
 * `KubernetesError`, or with the error of `change`.
 */
export async function patchStatus<Status>(
  cluster: Cluster,
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

/**
 * Patches the status of a Task with `patchStatus`. `change` receives the current Task, even if it has ended, and returns
 * undefined if there is nothing to change. A Task that has ended is never patched.
 */
export async function patchTask(
  { api, cluster }: { readonly api: RufioApi; readonly cluster: Cluster },
  { name, uid }: { readonly name: ObjectName; readonly uid: string },
  known: OpenTask | undefined,
  change: (task: RufioTask) => TaskChange | undefined,
  signal: AbortSignal,
): Promise<"written" | "same" | "gone"> {
  const record = api.recordOf({ name, uid });
  const before = known && {
    resourceVersion: known.resourceVersion,
    status: { task: known, status: known.status },
  };
  let isGone = false;
  const decide = ({ task, status }: SeenTask) => {
    isGone = task?.uid !== uid;
    const decided = task && !isGone ? change(task) : undefined;
    return decided && task && !task.finished ? api.taskPatch(task, status, decided) : undefined;
  };
  const patched = await patchStatus(cluster, { ...record, known: before }, decide, signal);
  return isGone ? "gone" : patched;
}
