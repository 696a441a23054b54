import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { KINDS } from "../client/kinds.ts";
import { WatchedObjects } from "../client/watched-objects.ts";
import type { ShareCluster } from "./share-lease.ts";

/** The runtime's label for the `actionKey`. */
const KEY_LABEL = "pbnj-worker/key";

const Job = z.object({
  metadata: z.object({ labels: z.optional(z.record(z.string(), z.string())) }),
  status: z.optional(
    z.object({
      conditions: z.optional(z.array(z.object({ type: z.string(), status: z.string() }))),
    }),
  ),
});
type Job = z.infer<typeof Job>;

/** `batch/v1` marks the end of a Job with a condition. */
function isActive({ status }: Job): boolean {
  return !status?.conditions?.some(
    ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
  );
}

/** The keys of all actions whose Jobs are active. */
export async function activeActionKeys(
  cluster: ShareCluster,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const selection = { namespace: cluster.namespace, labelSelector: KEY_LABEL };
  const { items } = await cluster.list(KINDS.job, selection, Job, signal);
  return new Set(items.filter(isActive).flatMap(({ metadata }) => metadata.labels?.[KEY_LABEL] ?? []));
}

export async function isActionActive(
  cluster: ShareCluster,
  actionKey: string,
  signal: AbortSignal,
): Promise<boolean> {
  const selection = { namespace: cluster.namespace, labelSelector: `${KEY_LABEL}=${actionKey}` };
  const { items } = await cluster.list(KINDS.job, selection, Job, signal);
  return items.some(isActive);
}

/** Resolves when no Job of the action is active. Rejects with the signal's reason. */
export async function actionEnded(
  { cluster, clock, log }: { readonly cluster: ShareCluster; readonly clock: Clock; readonly log: Logger },
  actionKey: string,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  const stop = () => ended.abort();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const jobs = new WatchedObjects<Job>({
    cluster,
    kind: KINDS.job,
    selection: { namespace: cluster.namespace, labelSelector: `${KEY_LABEL}=${actionKey}` },
    project: (object) => Job.safeParse(object).data,
    onChange: () => look(),
    clock,
    log,
  });
  const look = () => {
    if (jobs.isSynced && ![...jobs.values()].some(isActive)) stop();
  };
  jobs.synced.then(look, () => undefined);
  try {
    await jobs.run(ended.signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}
