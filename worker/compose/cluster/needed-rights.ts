import type { NeededRight } from "../../cluster/client/needed-right.ts";
import { RIGHTS as EVENT_RIGHTS } from "../../cluster/events/rights.ts";
import { leaderRights } from "../../cluster/leader/rights.ts";
import { RIGHTS as WAKE_UP_RIGHTS } from "../../cluster/wake-up/rights.ts";
import type { ExecutionConfig, WorkerConfig } from "../../config/worker-config.ts";
import { identityRight, rightsFor } from "../../machines/cluster/rights.ts";
import { RIGHTS as RUNTIME_RIGHTS } from "../../runtime/kubernetes/rights.ts";
import { HARDWARE_RIGHTS, RIGHTS as RUFIO_RIGHTS } from "../../source/rufio/rights.ts";

export interface ClusterFeature {
  readonly name: string;
  readonly rights: readonly NeededRight[];
}

/** The settings that decide about the needed rights. */
export type ClusterUse = Pick<ExecutionConfig, "kubernetes" | "runtime" | "inventory"> &
  Partial<Pick<WorkerConfig, "agentAttributes" | "drift">>;

export function clusterFeatures(config: ClusterUse): readonly ClusterFeature[] {
  const { kubernetes, runtime, agentAttributes = false, drift } = config;
  if (!kubernetes) return [];
  const { inventory, managedHosts, sources, wakeUp, rufio, leaderElection } = kubernetes;
  const compares = drift !== undefined;
  const readsItself =
    rufio !== undefined || agentAttributes || compares || inventory.includes("baremetalhosts");
  // A kubelet mounts the Secrets that are in the namespace of the pods.
  const mounts = runtime.kind === "kubernetes" && !readsItself;
  const inventoryRights = rightsFor(inventory, managedHosts).filter(
    ({ resource }) => !mounts || resource !== "secrets",
  );
  const identities = sources.flatMap(({ access }) => (access?.kind === "identity" ? [access.secret] : []));
  return [
    ...(runtime.kind === "kubernetes" ? [{ name: "runtime", rights: runtimeRights(config) }] : []),
    ...(inventory.length > 0 ? [{ name: "inventory", rights: inventoryRights }] : []),
    ...(identities.length > 0 ? [{ name: "machine sources", rights: identities.map(identityRight) }] : []),
    ...(wakeUp ? [{ name: "wake-up", rights: WAKE_UP_RIGHTS }] : []),
    ...(rufio
      ? [{ name: "rufio", rights: [...RUFIO_RIGHTS, ...(rufio.hardware ? HARDWARE_RIGHTS : [])] }]
      : []),
    ...(compares && inventory.some((kind) => kind !== "baremetalhosts")
      ? [{ name: "events", rights: EVENT_RIGHTS }]
      : []),
    ...(leaderElection ? [{ name: "leader election", rights: leaderRights(leaderElection.lease) }] : []),
  ];
}

/** The runtime creates Secrets only for machines whose own Secrets a kubelet cannot mount. */
function runtimeRights({ kubernetes, inventory }: ClusterUse): readonly NeededRight[] {
  const { namespace, watchNamespace, sources = [] } = kubernetes ?? {};
  const isOneNamespace = watchNamespace === undefined || watchNamespace === namespace;
  const mountsAll =
    inventory.machines().length === 0 &&
    isOneNamespace &&
    sources.every((source) => source.access === undefined && !source.inventory.includes("baremetalhosts"));
  return mountsAll ? RUNTIME_RIGHTS.filter(({ resource }) => resource !== "secrets") : RUNTIME_RIGHTS;
}
