import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { ACTION_CONTAINER } from "./job-spec.ts";
import type { PodOutput } from "./pod-output.ts";

const RETRY: Backoff = { firstMs: 250, maxMs: 5_000 };

export interface LogSource {
  readonly cluster: Cluster;
  readonly pod: ObjectName;
  readonly output: PodOutput;
}

export interface FollowLogOptions extends LogSource {
  readonly isOver: () => boolean;
  readonly onForbidden: (reason: string) => void;
  readonly clock: Clock;
}

/** Reads a container's log to its end, even through interruptions. Never rejects; parts that cannot be read are missing. */
export async function followLog(options: FollowLogOptions, signal: AbortSignal): Promise<void> {
  const { cluster, pod, output, isOver, clock } = options;
  for (let failures = 0; !signal.aborted; ) {
    const wasOver = isOver();
    const { since } = output;
    const reading = output.read();
    try {
      const what = { container: ACTION_CONTAINER, timestamps: true, follow: !wasOver };
      await cluster.log(
        pod,
        since === undefined ? what : { ...what, sinceTime: since },
        (chunk) => {
          failures = 0;
          return reading.push(chunk);
        },
        signal,
      );
      reading.end();
      if (wasOver || output.hasResult) return;
      failures += 1;
    } catch (thrown) {
      reading.end();
      if (isKubernetesError(thrown, "not-found")) return;
      if (isKubernetesError(thrown, "forbidden") && thrown instanceof Error) {
        options.onForbidden(thrown.message);
        return;
      }
      // If the kubelet does not know the container yet, or has removed it, the API responds that the request is invalid.
      if (wasOver && isKubernetesError(thrown, "invalid")) return;
      failures += 1;
    }
    await clock.sleep(backoffMs(RETRY, failures), signal).catch(() => undefined);
  }
}

/** Limits that are enough for the longest result. */
const TAIL = { tailLines: 10, limitBytes: 5 * 1024 * 1024 };

/** Reads only the last lines of a long log. Never rejects. */
export async function readTail({ cluster, pod, output }: LogSource, signal: AbortSignal): Promise<void> {
  const reading = output.read();
  const what = { container: ACTION_CONTAINER, timestamps: true, ...TAIL };
  await cluster.log(pod, what, (chunk) => reading.push(chunk), signal).catch(() => undefined);
  reading.end();
}
