import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type LockOwner, LockRefused, type Locks, MachineLocks } from "../../core/queue/action-queue.ts";
import type { Cluster, WatchedCluster } from "../client/cluster.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import { watchUntil } from "../client/watched-objects.ts";
import { LAUNCH_PATH, LOCK_LABEL, lockLabelOf } from "./lock-label.ts";

/** The requests of a `Cluster` that the locks send. */
interface LocksCluster extends WatchedCluster {
  readonly namespace: string;
  readonly patch: Cluster["patch"];
}

export interface LeaderLocksOptions {
  readonly cluster: LocksCluster;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The label in which the runtime stores the `actionKey`. */
const KEY_LABEL = "pbnj-worker/key";
const BMC = /^bmc /;
const RETRY_MS = 1_000;
/** How long an action waits for another action's Job before it releases the lock, because the Job's own action may need it. */
const JOB_WAIT_MS = 5_000;

const Job = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    labels: z.optional(z.record(z.string(), z.string())),
  }),
  spec: z.optional(z.object({ suspend: z.optional(z.boolean()) })),
  status: z.optional(
    z.object({
      conditions: z.optional(z.array(z.object({ type: z.string(), status: z.string() }))),
    }),
  ),
});
type Job = z.infer<typeof Job>;

/** The state of a Job. A suspended Job starts only when its own action has the lock. */
function stateOf({ spec, status }: Job): "suspended" | "running" | "ended" {
  const hasEnded = status?.conditions?.some(
    ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
  );
  if (hasEnded) return "ended";
  return spec?.suspend === true ? "suspended" : "running";
}

/**
 * The machine locks of a leader. A Job that an earlier leader started keeps its BMC locked until it has ended: before that,
 * only the action that adopts the Job acquires the lock.
 */
export class LeaderLocks implements Locks {
  readonly #options: LeaderLocksOptions;
  readonly #local = new MachineLocks();
  /** The keys of actions whose Jobs were running when this worker took over, by the label of their BMC. */
  readonly #inherited = new Map<string, Set<string>>();

  constructor(options: LeaderLocksOptions) {
    this.#options = options;
  }

  /**
   * Reads the Jobs of earlier leaders. Call when this worker leads, before it starts anything. Resolves when the Jobs are
   * known, or when the signal aborts. Never rejects.
   */
  async takeOver(signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const selection = { namespace: cluster.namespace, labelSelector: `${KEY_LABEL},${LOCK_LABEL}` };
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const { items } = await cluster.list(KINDS.job, selection, Job, signal);
        for (const job of items) {
          const state = stateOf(job);
          if (state === "ended" || (state === "suspended" && (await this.#fence(job, signal)))) continue;
          const { [LOCK_LABEL]: bmc = "", [KEY_LABEL]: actionKey = "" } = job.metadata.labels ?? {};
          this.#inherited.set(bmc, (this.#inherited.get(bmc) ?? new Set()).add(actionKey));
        }
        const bmcs = this.#inherited.size;
        if (bmcs > 0) log.info({ bmcs }, "jobs of an earlier leader are running");
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        logOutage(log, failures === 0, { error: textOf(thrown) }, "jobs not listed, retrying");
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  /**
   * Invalidates an earlier leader's request to start this Job, which may still be in flight. Resolves to false if the Job has
   * started meanwhile.
   */
  async #fence({ metadata }: Job, signal: AbortSignal): Promise<boolean> {
    const { cluster } = this.#options;
    const body = [
      { op: "test", path: "/metadata/uid", value: metadata.uid },
      { op: "test", path: "/spec/suspend", value: true },
      { op: "add", path: LAUNCH_PATH, value: randomBytes(4).toString("hex") },
    ];
    const at = { namespace: cluster.namespace, name: metadata.name };
    try {
      await cluster.patch(KINDS.job, at, { type: "json", body }, z.unknown(), signal);
      return true;
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return true;
      if (isKubernetesError(thrown, "invalid")) return false;
      throw thrown;
    }
  }

  /** Rejects when the signal aborts, and with `LockRefused`. */
  async acquire(key: string, signal: AbortSignal, { actionKey }: LockOwner = {}): Promise<() => void> {
    const release = await this.#local.acquire(key, signal);
    if (!BMC.test(key)) return release;
    const bmc = lockLabelOf(key.replace(BMC, ""));
    try {
      for (const inherited of this.#inherited.get(bmc) ?? []) {
        if (inherited === actionKey) continue;
        await this.#ended(inherited, signal);
        this.#inherited.get(bmc)?.delete(inherited);
      }
      return release;
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Waits a while for the end of an action's Job. Rejects with `LockRefused` if it is still running. */
  async #ended(actionKey: string, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const selection = { namespace: cluster.namespace, labelSelector: `${KEY_LABEL}=${actionKey}` };
    const project = (object: unknown) => Job.safeParse(object).data;
    const untilEnded = (bound: AbortSignal) =>
      watchUntil(
        { cluster, kind: KINDS.job, selection, project, clock, log },
        (jobs) => ![...jobs.values()].some((job) => stateOf(job) === "running"),
        bound,
      );
    try {
      await withTimeout(JOB_WAIT_MS, signal, untilEnded, clock);
    } catch (thrown) {
      if (thrown instanceof TimeoutReached) throw new LockRefused("a Job of an earlier leader uses the BMC");
      throw thrown;
    }
  }
}
