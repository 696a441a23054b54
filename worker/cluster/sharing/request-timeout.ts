import type { Clock } from "../../../shared/clock.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { KubernetesError } from "../client/kubernetes-error.ts";

/** `withTimeout` for a request to the API: a `KubernetesError` says that the time is over. */
export async function withRequestTimeout<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withTimeout(ms, signal, request, clock);
  } catch (thrown) {
    if (!(thrown instanceof TimeoutReached)) throw thrown;
    throw new KubernetesError("timeout", `the Kubernetes API did not answer within ${ms} ms`);
  }
}
