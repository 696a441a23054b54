import type { Clock } from "../../../shared/clock.ts";
import { KubernetesError } from "../client/kubernetes-error.ts";

/** Work with a deadline on a given clock. Rejects with a `KubernetesError` when it is over, or the signal's reason. */
export async function bounded<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (bound: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const bound = new AbortController();
  const timer = new AbortController();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const end = (reason: unknown) => {
    bound.abort(reason);
    ended.reject(reason);
  };
  const onAbort = () => end(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  clock.sleep(ms, timer.signal).then(
    () => end(new KubernetesError("timeout", `the Kubernetes API did not answer within ${ms} ms`)),
    () => undefined,
  );
  try {
    return await Promise.race([work(bound.signal), ended.promise]);
  } finally {
    timer.abort();
    signal.removeEventListener("abort", onAbort);
  }
}
