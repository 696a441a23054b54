import { systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import type { KubernetesConfig } from "../../config/worker-config.ts";
import { ClusterInventory } from "../../machines/cluster/cluster-inventory.ts";
import { CombinedInventory } from "../../machines/combined-inventory.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { Policy } from "../../policy/policy.ts";
import { referenceRefusal } from "../execution.ts";
import { machineSources } from "./machine-sources.ts";

export interface RunInventoryOptions {
  readonly file: Inventory;
  readonly kubernetes: KubernetesConfig;
  readonly policy: Policy;
  readonly cluster: Cluster;
  readonly log: Logger;
  /** Called with what must be closed at the end. */
  readonly onOpen: (opened: { close(): Promise<void> }) => void;
}

const MACHINES_MS = 30_000;

/**
 * The inventory of `pbnj-worker run`: the machines of the file and, if the settings say so, of the cluster. A run has no
 * namespace, so that it may use the machines of all.
 */
export async function runInventory(
  { file, kubernetes, policy, cluster, log, onOpen }: RunInventoryOptions,
  stop: AbortSignal,
): Promise<Inventory> {
  const sources = machineSources(kubernetes, { cluster, clock: systemClock, log });
  if (sources.length === 0) return file;
  const machines = new ClusterInventory({
    log,
    clock: systemClock,
    sources,
    managedHosts: kubernetes.managedHosts ?? "refuse",
    references: referenceRefusal(() => policy),
    onChange: () => undefined,
  });
  onOpen(machines);
  void machines.run(stop);
  const synced = await machines.synced(AbortSignal.any([stop, AbortSignal.timeout(MACHINES_MS)]));
  if (!synced.ok) log.warn({ reason: synced.reason }, "cluster machines not loaded yet");
  const all = new CombinedInventory(file, machines, log);
  return {
    machines: () => all.machines(),
    find: (name) => all.find(name),
    resolveConnection: (machine, reading) => all.resolveConnection(machine, reading),
    hostAccess: (machine, image) => all.hostAccess(machine, image),
    hosts: () => all.hosts(),
    mountedConnection: (machine, namespace) => all.mountedConnection(machine, namespace),
  };
}
