import { systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { CombinedInventory } from "../../machines/combined-inventory.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { ClusterInventory } from "./cluster-inventory.ts";
import type { Managed } from "./described-host.ts";
import type { MachinesPart } from "./machine-settings.ts";
import { openSources } from "./machine-sources.ts";

export interface RunInventoryOptions extends MachinesPart {
  readonly file: Inventory;
  readonly managedHosts: Managed;
  readonly references: ReferenceRefusal;
  readonly cluster: Cluster;
  readonly log: Logger;
}

/** An inventory to close at the end of the run. */
export interface RunInventory extends Inventory {
  close(): Promise<void>;
}

const MACHINES_MS = 30_000;

/**
 * Opens the inventory of `pbnj-worker run`, with the machines of the file and of the cluster. A run has no namespace, so it may
 * use the machines of all namespaces.
 */
export async function runInventory(
  { file, machineSources, managedHosts, references, cluster, log }: RunInventoryOptions,
  stop: AbortSignal,
): Promise<RunInventory> {
  const machines = new ClusterInventory({
    log,
    clock: systemClock,
    sources: openSources(machineSources, { cluster, clock: systemClock, log }),
    managedHosts,
    references,
    onChange: () => undefined,
  });
  void machines.run(stop);
  const synced = await machines.synced(AbortSignal.any([stop, AbortSignal.timeout(MACHINES_MS)]));
  if (!synced.ok) log.warn({ reason: synced.reason }, "cluster machines not loaded yet");
  const all = new CombinedInventory(file, log);
  all.join(machines);
  return {
    machines: () => all.machines(),
    find: (name) => all.find(name),
    resolveConnection: (machine, reading) => all.resolveConnection(machine, reading),
    hostAccess: (machine, image) => all.hostAccess(machine, image),
    hosts: () => all.hosts(),
    mountedConnection: (machine, namespace) => all.mountedConnection(machine, namespace),
    close: () => machines.close(),
  };
}
