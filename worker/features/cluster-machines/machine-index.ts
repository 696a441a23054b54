import type { Pause } from "../../core/action/machine-facts.ts";
import type { Labels } from "../../document/labels.ts";
import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { CLAIM_PREFIX, type Machine } from "../../machines/inventory.ts";
import { MachineName } from "../../machines/inventory-schema.ts";
import { type ClaimContent, targetOfClaim } from "./described-claim.ts";
import type { HostContent } from "./described-host.ts";
import type { BmcTarget, Described, MachineReference } from "./described-machine.ts";

/** The kinds of objects that can be machines. */
export type ClusterSource = "machines" | "hardware" | "baremetalhosts";

/** The BareMetalHost behind a machine. */
export interface Metal3Machine {
  readonly host: ObjectName;
  /** The claim that names the machine, if there is one. */
  readonly claim?: ObjectName;
}

/** The object that a machine comes from. */
export interface ObjectOrigin {
  readonly object: "Machine" | "Hardware" | "BareMetalHost" | "HostClaim";
  readonly at: ObjectName;
  /** The name of the machine source; the names of all sources if several have a machine of this name. */
  readonly source: string;
}

export interface ClusterMachine extends ObjectOrigin {
  /** The part that may be shown: the rest may contain tokens in headers. */
  readonly machine: Machine;
  /** False for a machine that can be found by name but is not polled for, such as a Machine that only a Hardware names. */
  readonly isListed: boolean;
  readonly content: BmcTarget;
  readonly metal3?: Metal3Machine | undefined;
}

export interface ClusterObjects {
  readonly machines: Iterable<Described<BmcTarget>>;
  readonly hardware: Iterable<Described<BmcTarget>>;
  readonly references: Iterable<Described<MachineReference>>;
  readonly hosts: Iterable<Described<HostContent>>;
  readonly claims: Iterable<Described<ClaimContent>>;
  readonly findHost: (name: ObjectName) => Described<HostContent> | undefined;
  readonly findMachine: (name: ObjectName) => Described<BmcTarget> | undefined;
  readonly machinesUnseen: string | undefined;
}

interface Added {
  readonly isListed: boolean;
  readonly metal3?: Metal3Machine;
  readonly paused?: Pause | undefined;
  readonly labels?: Labels | undefined;
}

export interface MachineIndex {
  /** The machines by name, which includes the namespace if several namespaces are watched. */
  readonly byName: ReadonlyMap<string, ClusterMachine>;
  /** Machines to poll for, sorted by name. */
  readonly machines: readonly Machine[];
  readonly rejected: readonly { readonly object: string; readonly problem: string }[];
}

export interface Naming {
  readonly source: string;
  readonly prefix: string;
  readonly sources: readonly ClusterSource[];
  /** Whether several namespaces are watched, so that names need a namespace. */
  readonly allNamespaces: boolean;
}

/** Names the machines. If several objects have the same name, the first one keeps it; Machines come first. */
export function indexMachines(
  objects: ClusterObjects,
  { source, prefix, sources, allNamespaces }: Naming,
): MachineIndex {
  const byName = new Map<string, ClusterMachine>();
  const rejected: { object: string; problem: string }[] = [];

  const nameOf = (at: ObjectName) => `${prefix}${allNamespaces ? `${at.name}.${at.namespace}` : at.name}`;

  function add(
    object: ClusterMachine["object"],
    at: ObjectName,
    content: BmcTarget,
    { isListed, metal3, paused, labels }: Added,
  ) {
    const name = nameOf(at);
    if (!MachineName.safeParse(name).success) {
      rejected.push({ object: `${object} ${keyOf(at)}`, problem: `${name} cannot be a machine's name` });
      return;
    }
    const taken = byName.get(name);
    if (!taken) {
      const lockKey = content.kind === "usable" ? content.lockKey : `unusable ${object} ${keyOf(at)}`;
      const machine = { name, lockKey, paused, labels };
      byName.set(name, { machine, object, at, source, isListed, content, metal3 });
    } else if (isListed && content.kind === "usable" && content.lockKey !== taken.machine.lockKey) {
      const problem = `its name is that of ${taken.object} ${keyOf(taken.at)}, which has another BMC`;
      rejected.push({ object: `${object} ${keyOf(at)}`, problem });
    }
  }

  if (sources.includes("machines")) {
    for (const { name, content, paused, labels } of objects.machines)
      add("Machine", name, content, { isListed: true, paused, labels });
  }
  const referred: Described<BmcTarget>[] = [];
  for (const { name, content, paused, labels } of everyHardware(objects)) {
    if (content.kind === "reference") {
      const machine = objects.findMachine({ namespace: name.namespace, name: content.machine });
      if (machine) referred.push(machine);
      const target = throughReference(content.machine, machine, objects.machinesUnseen);
      const both = { ...labels, ...machine?.labels };
      add("Hardware", name, target, { isListed: true, paused: paused ?? machine?.paused, labels: both });
    } else add("Hardware", name, content, { isListed: true, paused, labels });
  }
  for (const { name, content, paused, labels } of referred)
    add("Machine", name, content, { isListed: false, paused, labels });
  for (const { name, content, paused, labels } of objects.hosts) {
    add("BareMetalHost", name, content.target, { isListed: true, metal3: { host: name }, paused, labels });
  }
  for (const claimed of objects.claims) {
    const { name: claim } = claimed;
    const { target: content, host, paused, labels } = targetOfClaim(claimed, objects.findHost);
    const lockKey = content.kind === "usable" ? content.lockKey : `unusable HostClaim ${keyOf(claim)}`;
    const machine = { name: `${CLAIM_PREFIX}${nameOf(claim)}`, lockKey, paused, labels };
    const metal3 = host && { host, claim };
    byName.set(machine.name, {
      machine,
      object: "HostClaim",
      at: claim,
      source,
      isListed: false,
      content,
      metal3,
    });
  }

  return { byName, machines: listed(byName), rejected };
}

/** Merges the machines of several sources. A machine whose name is ambiguous is unusable. */
export function mergeIndexes(indexes: readonly MachineIndex[]): MachineIndex {
  const [first, ...others] = indexes;
  if (first && others.length === 0) return first;
  const byName = new Map<string, ClusterMachine>();
  for (const index of indexes) {
    for (const [name, found] of index.byName) {
      const taken = byName.get(name);
      byName.set(name, taken ? ambiguous(taken, found) : found);
    }
  }
  return { byName, machines: listed(byName), rejected: indexes.flatMap(({ rejected }) => rejected) };
}

function ambiguous(one: ClusterMachine, other: ClusterMachine): ClusterMachine {
  const { name } = one.machine;
  return {
    ...one,
    machine: { name, lockKey: `ambiguous ${name}` },
    source: `${one.source}, ${other.source}`,
    isListed: one.isListed || other.isListed,
    content: { kind: "unusable", problems: [AMBIGUOUS] },
  };
}

const AMBIGUOUS =
  "several machine sources have this name: remove the objects of all but one, or set a prefix for a source";

function listed(byName: MachineIndex["byName"]): readonly Machine[] {
  const machines = [...byName.values()].flatMap(({ machine, isListed }) => (isListed ? [machine] : []));
  return machines.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Yields each Hardware once, because a CRD may serve it in two versions, of which only one has the data. */
function* everyHardware({
  hardware,
  references,
}: ClusterObjects): Generator<Described<BmcTarget | MachineReference>> {
  const seen = new Set<string>();
  for (const described of hardware) {
    seen.add(keyOf(described.name));
    yield described;
  }
  for (const described of references) if (!seen.has(keyOf(described.name))) yield described;
}

function throughReference(
  name: string,
  machine: Described<BmcTarget> | undefined,
  unseen: string | undefined,
): BmcTarget {
  const named = `spec.bmcRef names the Machine ${name}`;
  if (!machine) {
    const why = unseen === undefined ? "which does not exist" : `and Machines cannot be seen: ${unseen}`;
    return { kind: "unusable", problems: [`${named}, ${why}`] };
  }
  const { content } = machine;
  if (content.kind === "usable") return content;
  return { ...content, problems: content.problems.map((problem) => `${named}, whose ${problem}`) };
}
