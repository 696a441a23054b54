import { z } from "zod";
import { type Finding, findingOf } from "../../findings/finding.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { type Kind, resourceName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { RufioApiVersion } from "./rufio-api.ts";
import { missingLease } from "./rufio-lease.ts";
import type { RufioConfig } from "./rufio-settings.ts";
import { v1alpha1 } from "./v1alpha1.ts";
import { v1alpha2 } from "./v1alpha2.ts";

/** Reports Rufio's kinds that the cluster does not serve. The check of rights reports kinds that the worker may not list. */
export async function checkRufioKinds(
  api: RufioApiVersion,
  watchNamespace: string,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { job, machine, taskObjects } = api === "v1alpha2" ? v1alpha2 : v1alpha1;
  const kinds = [job, ...(taskObjects ? [taskObjects.kind] : []), machine];
  const served = await Promise.all(kinds.map((kind) => isServed(kind, watchNamespace, cluster, signal)));
  const missing = kinds.filter((_, index) => !served[index]);
  if (missing.length === 0) return [];
  const names = missing.map((kind) => `${resourceName(kind)}/${kind.version}`).join(", ");
  return [
    findingOf("rufio-kind-missing", `the cluster does not serve ${names}`, { facts: { version: api } }),
  ];
}

async function isServed(
  kind: Kind,
  watchNamespace: string,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = watchNamespace === "*" ? undefined : watchNamespace;
  try {
    // No object has an empty name, so the response is short.
    await cluster.list(kind, { namespace, fieldSelector: "metadata.name=" }, z.unknown(), signal);
    return true;
  } catch (thrown) {
    if (isKubernetesError(thrown, "no-such-kind")) return false;
    if (isKubernetesError(thrown, "forbidden")) return true;
    throw thrown;
  }
}

/** Checks that a running Rufio would hold its Lease. The check of rights reports a Lease that the worker may not read. */
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
