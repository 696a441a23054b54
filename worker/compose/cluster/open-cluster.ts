import type { ExecutionConfig } from "../../config/worker-config.ts";
import type { OpenedCluster } from "../cluster-services.ts";

/** `reason` is one line. */
export type ClusterOpening =
  | { readonly ok: true; readonly cluster: OpenedCluster | undefined }
  | { readonly ok: false; readonly reason: string };

export async function openCluster({
  kubernetes,
}: Pick<ExecutionConfig, "kubernetes">): Promise<ClusterOpening> {
  if (!kubernetes) return { ok: true, cluster: undefined };
  const { openKubernetes } = await import("./open-kubernetes.ts");
  const { KubernetesError } = await import("../../cluster/client/kubernetes-error.ts");
  try {
    return { ok: true, cluster: await openKubernetes(kubernetes) };
  } catch (thrown) {
    if (thrown instanceof KubernetesError) return { ok: false, reason: thrown.message };
    throw thrown;
  }
}
