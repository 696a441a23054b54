import type { Cluster } from "../../cluster/client/cluster.ts";
import type { KubernetesConfig } from "../../config/worker-config.ts";
import type { MachineSource } from "../../machines/cluster/inventory-source.ts";
import { ownAccess } from "../../machines/cluster/own-access.ts";

/** Where the settings say that machines are read from; the worker's own cluster first. */
export function machineSources(kubernetes: KubernetesConfig, cluster: Cluster): readonly MachineSource[] {
  const { inventory: kinds, watchNamespace } = kubernetes;
  if (kinds.length === 0) return [];
  return [{ name: "local", kinds, isOwn: true, access: ownAccess(cluster), watchNamespace }];
}
