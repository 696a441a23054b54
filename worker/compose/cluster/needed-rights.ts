import type { NeededRight } from "../../cluster/client/needed-right.ts";
import { RIGHTS as SHARING_RIGHTS } from "../../cluster/sharing/rights.ts";
import { RIGHTS as WAKE_UP_RIGHTS } from "../../cluster/wake-up/rights.ts";
import type { ExecutionConfig } from "../../config/worker-config.ts";
import { RIGHTS as INVENTORY_RIGHTS } from "../../machines/cluster/rights.ts";
import { RIGHTS as RUNTIME_RIGHTS } from "../../runtime/kubernetes/rights.ts";
import { RIGHTS as RUFIO_RIGHTS } from "../../source/rufio/rights.ts";

export interface ClusterFeature {
  readonly name: string;
  readonly rights: readonly NeededRight[];
}

/** The settings that decide about the needed rights. */
export type ClusterUse = Pick<ExecutionConfig, "kubernetes" | "runtime" | "inventory">;

export function clusterFeatures(config: ClusterUse): readonly ClusterFeature[] {
  const { kubernetes, runtime } = config;
  if (!kubernetes) return [];
  const { inventory, wakeUp, rufio, sharing } = kubernetes;
  const kinds = new Set(["secrets", "machines", ...(inventory.includes("hardware") ? ["hardware"] : [])]);
  // A kubelet mounts the Secrets that are in the namespace of the pods.
  if (runtime.kind === "kubernetes" && !rufio) kinds.delete("secrets");
  const inventoryRights = INVENTORY_RIGHTS.filter(({ resource }) => kinds.has(resource));
  return [
    ...(runtime.kind === "kubernetes" ? [{ name: "runtime", rights: runtimeRights(config) }] : []),
    ...(inventory.length > 0 ? [{ name: "inventory", rights: inventoryRights }] : []),
    ...(wakeUp ? [{ name: "wake-up", rights: WAKE_UP_RIGHTS }] : []),
    ...(rufio ? [{ name: "rufio", rights: RUFIO_RIGHTS }] : []),
    ...(sharing ? [{ name: "sharing", rights: SHARING_RIGHTS }] : []),
  ];
}

/** The runtime creates Secrets only for machines whose own Secrets a kubelet cannot mount. */
function runtimeRights({ kubernetes, inventory }: ClusterUse): readonly NeededRight[] {
  const { namespace, watchNamespace } = kubernetes ?? {};
  const mountsAll =
    inventory.machines().length === 0 && (watchNamespace === undefined || watchNamespace === namespace);
  return mountsAll ? RUNTIME_RIGHTS.filter(({ resource }) => resource !== "secrets") : RUNTIME_RIGHTS;
}
