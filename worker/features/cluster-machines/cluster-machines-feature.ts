import type { LogFields } from "../../../shared/logger.ts";
import { type LaneChanges, laneFields, shortenedNames } from "../../core/lanes/worker.ts";
import type { NeededRight } from "../../kubernetes/client/needed-right.ts";
import { RIGHTS as EVENT_RIGHTS } from "../../kubernetes/events/event-rights.ts";
import type { ObjectEvents } from "../../kubernetes/events/object-events.ts";
import type {
  FeatureDefinition,
  FeaturePart,
  FeatureServices,
  NamedRights,
  SharedConfig,
  UpdateLanes,
} from "../feature.ts";
import type { MachineNotice } from "../shared/facts.ts";
import type { ClusterInventory, MachineChanges } from "./cluster-inventory.ts";
import { identityRight, rightsFor } from "./machine-rights.ts";
import { type MachinesPart, machineSettings } from "./machine-settings.ts";

/** The settings of this feature and of the features that use its machines. */
interface Config extends SharedConfig, MachinesPart {
  readonly managedHosts: "refuse" | "via-host";
  readonly rufio?: object;
  readonly agentAttributes: boolean;
  readonly drift?: object;
}

/** How long a starting worker waits for its machines. */
const READY_MS = 30_000;

/** Machines from the objects of Rufio, Tinkerbell and Metal3, in one cluster or several. */
export const clusterMachines = {
  name: "inventory",
  settings: machineSettings,
  isUsed: ({ machineSources }) => machineSources.length > 0,
  rights,
  async check({ kubernetes, machineSources }, { cluster, timeoutMs }, signal) {
    if (!kubernetes) return [];
    const { checkMachineSources, checkOwnSources } = await import("./check-machine-sources.ts");
    if (cluster) return checkOwnSources(machineSources, cluster, kubernetes.watchNamespace, signal);
    return checkMachineSources(machineSources, kubernetes, timeoutMs, signal);
  },
  open: openMachines,
} satisfies FeatureDefinition<Config>;

function rights(config: Config): readonly NamedRights[] {
  const { agentAttributes, drift, machineSources: sources, managedHosts, rufio, runtime } = config;
  const inventory = sources.find(({ access }) => access === undefined)?.inventory ?? [];
  const readsItself =
    rufio !== undefined || agentAttributes || drift !== undefined || inventory.includes("baremetalhosts");
  // A kubelet mounts the Secrets, so the worker need not read them.
  const mounts = runtime.kind === "kubernetes" && !readsItself;
  const ofMachines = rightsFor(inventory, managedHosts).filter(
    ({ resource }) => !mounts || resource !== "secrets",
  );
  const writesEvents = drift !== undefined && inventory.some((kind) => kind !== "baremetalhosts");
  const part = (name: string, needed: readonly NeededRight[]) =>
    needed.length > 0 ? [{ name, rights: needed }] : [];
  return [
    ...part("inventory", inventory.length > 0 ? ofMachines : []),
    ...part(
      "machine sources",
      sources.flatMap(({ access }) => (access?.kind === "identity" ? [identityRight(access.secret)] : [])),
    ),
    ...part("events", writesEvents ? EVENT_RIGHTS : []),
  ];
}

async function openMachines(services: FeatureServices<Config>): Promise<readonly FeaturePart[]> {
  const { clock, config, log } = services;
  const { cluster } = services.control;
  const { inventory } = services.machines;
  const { references } = services.rules;
  if (!cluster) return [];
  const { ClusterInventory } = await import("./cluster-inventory.ts");
  const { openSources } = await import("./machine-sources.ts");
  /** Set while the lanes run. */
  let updateLanes: UpdateLanes | undefined;
  const machines = new ClusterInventory({
    sources: openSources(config.machineSources, { cluster, clock, log }),
    managedHosts: config.managedHosts,
    references,
    clock,
    log,
    onChange: (changes) => log.info(changeFields(changes, updateLanes?.()), "cluster machines updated"),
  });
  const events = config.drift && (await openEvents(services));
  // A machine of the inventory file has no object, even if the cluster has an object with its name.
  const objectOf = (machine: string) =>
    inventory.isInFile(machine) ? undefined : machines.objectOf(machine);
  const machineObjects = {
    namespaceOf: (machine: string) => objectOf(machine)?.namespace,
    notify({ machine, ...about }: MachineNotice) {
      const object = objectOf(machine);
      if (object) events?.add({ object, ...about });
    },
  };
  return [
    { kind: "machines", inventory: machines },
    { kind: "offers", offers: { machineObjects } },
    { kind: "facts", cluster: () => clusterFacts(machines) },
    {
      kind: "task",
      async ready(stop) {
        const synced = await machines.synced(AbortSignal.any([stop, AbortSignal.timeout(READY_MS)]));
        if (!synced.ok && !stop.aborted) {
          log.warn({ reason: synced.reason }, "cluster machines not loaded yet");
        }
      },
      async run(stop, update) {
        updateLanes = update;
        await Promise.all([machines.run(stop), events?.run(stop)]);
      },
      close: () => machines.close(),
    },
  ];
}

async function openEvents({
  clock,
  control: { cluster },
  log,
}: FeatureServices): Promise<ObjectEvents | undefined> {
  const { ObjectEvents } = await import("../../kubernetes/events/object-events.ts");
  return cluster && new ObjectEvents({ cluster, clock, log });
}

function clusterFacts(machines: ClusterInventory) {
  const { sources, unusable } = machines.state();
  return {
    problems: sources.filter(({ isOwn }) => isOwn).flatMap(({ problems }) => problems),
    sources: sources.map(({ name, machines: count, problems }) => ({ name, machines: count, problems })),
    unusableMachines: unusable.length,
  };
}

function changeFields({ added, removed }: MachineChanges, lanes: LaneChanges | undefined): LogFields {
  return {
    machinesAdded: shortenedNames(added),
    machinesRemoved: shortenedNames(removed),
    ...(lanes && laneFields(lanes)),
  };
}
