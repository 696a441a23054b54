import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Cluster } from "../client/cluster.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";

export interface LeaderLabelOptions {
  readonly cluster: Cluster;
  /** The name of the worker's own pod. */
  readonly pod: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The label of the leader's pod, which the chart's Service selects. */
const LEADER_LABEL = "pbnj-worker/leader";
const RETRY_MS = 5_000;

/** Sets and removes the label by which a Service selects only the leader. */
export class LeaderLabel {
  readonly #options: LeaderLabelOptions;

  constructor(options: LeaderLabelOptions) {
    this.#options = options;
  }

  /** Moves the label from the previous leader's pod, which may be disconnected or restarted. Retries until the signal aborts; never rejects. */
  async move(before: string | undefined, signal: AbortSignal): Promise<void> {
    const { pod } = this.#options;
    if (before !== undefined && before !== pod) await this.#set(before, null, signal);
    await this.#set(pod, "true", signal);
  }

  /** Removes the label from this worker's pod. Retries until the signal aborts; never rejects. */
  remove(signal: AbortSignal): Promise<void> {
    return this.#set(this.#options.pod, null, signal);
  }

  async #set(pod: string, value: string | null, signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const name = { namespace: cluster.namespace, name: pod };
    const patch = { type: "merge", body: { metadata: { labels: { [LEADER_LABEL]: value } } } } as const;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await cluster.patch(KINDS.pod, name, patch, z.unknown(), signal);
        return;
      } catch (thrown) {
        if (signal.aborted) return;
        // Outside the cluster, or on the node's network, no pod has the host's name.
        if (isKubernetesError(thrown, "not-found")) return;
        logOutage(log, failures === 0, { pod, error: textOf(thrown) }, "leader label not set, retrying");
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }
}
