import type { Cluster } from "../kubernetes/client/cluster.ts";
import type { WorkerConfig } from "./settings.ts";

/** `reason` is one line. */
export type ClusterOpening =
  | { readonly ok: true; readonly cluster: Cluster | undefined }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads how to reach the cluster that the settings use, and sends nothing yet. A worker without a cluster loads nothing of
 * Kubernetes.
 */
export async function openCluster({ kubernetes }: Pick<WorkerConfig, "kubernetes">): Promise<ClusterOpening> {
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
