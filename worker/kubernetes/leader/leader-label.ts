import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Cluster } from "../client/cluster.ts";
import { KINDS } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";

export interface LeaderLabelOptions {
  readonly cluster: Pick<Cluster, "patch" | "namespace">;
  /** The worker's own. */
  readonly pod: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** On the leader's pod: the chart's Service selects it. */
const LEADER_LABEL = "pbnj-worker/leader";
const RETRY_MS = 5_000;

/** The label by which a Service reaches the leader alone. */
export class LeaderLabel {
  readonly #options: LeaderLabelOptions;

  constructor(options: LeaderLabelOptions) {
    this.#options = options;
  }

  /** Moves the label from the previous leader's pod, which may be cut off or restarted. Retries until the signal aborts; never rejects. */
  async move(before: string | undefined, signal: AbortSignal): Promise<void> {
    const { pod } = this.#options;
    if (before !== undefined && before !== pod) await this.#set(before, null, signal);
    await this.#set(pod, "true", signal);
  }

  /** Runs until the signal aborts. Never rejects. */
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
        // A worker outside the cluster, or on its node's network, has no pod of its host's name.
        if (isKubernetesError(thrown, "not-found")) return;
        logOutage(log, failures === 0, { pod, error: textOf(thrown) }, "leader label not set, retrying");
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }
}
