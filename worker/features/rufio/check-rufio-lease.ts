import { type Finding, findingOf } from "../../findings/finding.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { missingLease } from "./rufio-lease.ts";
import type { RufioConfig } from "./rufio-settings.ts";

/** Whether the Lease would show a running Rufio; nothing if the Lease cannot be read: the check of rights reports this. */
export async function checkRufioLease(
  { alone, leaseNamespace }: RufioConfig,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (alone) return [];
  try {
    const missing = await missingLease(cluster, leaseNamespace ?? cluster.namespace, signal);
    return missing === undefined ? [] : [findingOf("rufio-lease-missing", missing)];
  } catch (thrown) {
    if (isKubernetesError(thrown, "forbidden")) return [];
    throw thrown;
  }
}
