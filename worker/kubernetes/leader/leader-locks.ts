import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type LockOwner, LockRefused, type Locks, MachineLocks } from "../../core/queue/action-queue.ts";
import type { Cluster } from "../client/cluster.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";
import { watchUntil } from "../client/watched-objects.ts";
import { LAUNCH_PATH, LOCK_LABEL, lockLabelOf } from "./lock-label.ts";

export interface LeaderLocksOptions {
  readonly cluster: Pick<Cluster, "list" | "patch" | "watch" | "namespace">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The runtime's label for the `actionKey`. */
const KEY_LABEL = "pbnj-worker/key";
const BMC = /^bmc /;
const RETRY_MS = 1_000;
/** How often to check: meanwhile the Job's own action may be queued behind the one that waits. */
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

/** A suspended Job is started only in the turn of its own action. */
function stateOf({ spec, status }: Job): "suspended" | "running" | "ended" {
  const hasEnded = status?.conditions?.some(
    ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
  );
  if (hasEnded) return "ended";
  return spec?.suspend === true ? "suspended" : "running";
}

/**
 * `MachineLocks` of a leader. A Job that an earlier leader started keeps its BMC until it has ended: before that, only the
 * action that adopts the Job gets a turn.
 */
export class LeaderLocks implements Locks {
  readonly #options: LeaderLocksOptions;
  readonly #local = new MachineLocks();
  /** The keys of the actions whose Jobs ran when this worker took over, by the label of their BMC. */
  readonly #left = new Map<string, Set<string>>();

  constructor(options: LeaderLocksOptions) {
    this.#options = options;
  }

  /** Call when this worker leads, before it starts anything. Resolves when it knows the Jobs, or when the signal aborts. Never rejects. */
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
          this.#left.set(bmc, (this.#left.get(bmc) ?? new Set()).add(actionKey));
        }
        if (this.#left.size > 0) log.info({ bmcs: this.#left.size }, "jobs of an earlier leader are running");
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        logOutage(log, failures === 0, { error: textOf(thrown) }, "jobs not listed, retrying");
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  /**
   * Invalidates a request of an earlier leader to start this Job, which may still be in flight. Resolves to false if the Job has
   * been started meanwhile.
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
      for (const left of this.#left.get(bmc) ?? []) {
        if (left === actionKey) continue;
        await this.#ended(left, signal);
        this.#left.get(bmc)?.delete(left);
      }
      return release;
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

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
