import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { KINDS } from "../client/kinds.ts";
import { KubernetesError } from "../client/kubernetes-error.ts";
import { type LeaseText, leaseText, type ShareCluster, ShareLease } from "./share-lease.ts";
import type { Timings } from "./timings.ts";

/** What the parts of lane sharing have in common. */
export interface SharingOptions {
  readonly cluster: ShareCluster;
  readonly leases: LeaseRequests;
  readonly group: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  readonly timings: Timings;
}

export type LeaseRequests = ReturnType<typeof leaseRequests>;

/** Requests about Leases in the worker's namespace, each with a timeout. */
export function leaseRequests(cluster: ShareCluster, clock: Clock, timeoutMs: number) {
  const { namespace } = cluster;
  const bounded = <T>(signal: AbortSignal, request: (bound: AbortSignal) => Promise<T>) =>
    withRequestTimeout(clock, timeoutMs, signal, request);
  const list = (selector: { labelSelector: string } | { fieldSelector: string }, signal: AbortSignal) =>
    bounded(signal, (bound) => cluster.list(KINDS.lease, { namespace, ...selector }, ShareLease, bound));
  return {
    bounded,
    list,
    /** The Lease of that name, if it exists. Uses a list, which is never stale. */
    find: async (name: string, signal: AbortSignal) =>
      (await list({ fieldSelector: `metadata.name=${name}` }, signal)).items[0],
    /** Creates the Lease, or replaces exactly the version `before`. */
    write(lease: LeaseText, signal: AbortSignal): Promise<ShareLease> {
      const { name, before } = lease;
      const text = leaseText(lease);
      return bounded(signal, (bound) =>
        before
          ? cluster.replace(KINDS.lease, { namespace, name }, text, ShareLease, bound)
          : cluster.create(KINDS.lease, namespace, text, ShareLease, bound),
      );
    },
    /** Removes exactly that Lease, or that version of it. Resolves to whether it existed. */
    remove: (
      {
        name,
        ...version
      }: { readonly name: string; readonly uid: string; readonly resourceVersion?: string },
      signal: AbortSignal,
    ) => bounded(signal, (bound) => cluster.remove(KINDS.lease, { namespace, name }, version, bound)),
  };
}

/** `withTimeout` for a request to the API, with a `KubernetesError` after the timeout. */
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

/** The part of a Lease's metadata that identifies its version. */
export function versionOf({ metadata: { name, uid, resourceVersion } }: ShareLease) {
  return { name, uid, resourceVersion };
}
