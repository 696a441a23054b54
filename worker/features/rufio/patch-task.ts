import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import { patchStatus } from "./patch-status.ts";
import type { OpenTask, RufioApi, RufioTask, SeenTask, TaskChange } from "./rufio-api.ts";

/**
 * Patches the status of a Task with `patchStatus`. `change` is called with the current Task, even if it has ended, and returns
 * undefined if there is nothing to change. The status of a Task that has ended is never changed.
 */
export async function patchTask(
  { api, cluster }: { readonly api: RufioApi; readonly cluster: Pick<Cluster, "find" | "patch"> },
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
  const patched = await patchStatus(cluster, { ...record, ...(before && { known: before }) }, decide, signal);
  return isGone ? "gone" : patched;
}
