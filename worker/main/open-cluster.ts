import type { Cluster } from "../kubernetes/client/cluster.ts";
import type { WorkerConfig } from "./settings.ts";

/** The cluster, or the reason in one line. */
export type ClusterOpening =
  | { readonly ok: true; readonly cluster: Cluster | undefined }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads how to reach the cluster that the settings use, without sending anything. A worker without a cluster loads no
 * Kubernetes code.
 */
export async function openCluster({ kubernetes }: WorkerConfig): Promise<ClusterOpening> {
  if (!kubernetes) return { ok: true, cluster: undefined };
  const { Cluster } = await import("../kubernetes/client/cluster.ts");
  const { KubernetesError } = await import("../kubernetes/client/kubernetes-error.ts");
  try {
    return { ok: true, cluster: await Cluster.open(kubernetes) };
  } catch (thrown) {
    if (thrown instanceof KubernetesError) return { ok: false, reason: thrown.message };
    throw thrown;
  }
}
