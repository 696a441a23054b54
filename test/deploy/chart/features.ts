import { RIGHTS as INVENTORY_RIGHTS } from "../../../worker/features/cluster-machines/machine-rights.ts";
import { rufioRights } from "../../../worker/features/rufio/rufio-rights.ts";
import { RIGHTS as WAKE_UP_RIGHTS } from "../../../worker/features/wake-up/wake-up-feature.ts";
import type { NeededRight } from "../../../worker/kubernetes/client/needed-right.ts";
import { RIGHTS as EVENT_RIGHTS } from "../../../worker/kubernetes/events/event-rights.ts";
import { leaderRights } from "../../../worker/kubernetes/leader/leader-rights.ts";
import { RIGHTS as RUNTIME_RIGHTS } from "../../../worker/runtimes/kubernetes/runtime-rights.ts";

/** The choices that decide which rights are needed. */
export interface Choices {
  readonly runtime: "kubernetes" | "in-process";
  readonly machines: boolean;
  readonly hardware: boolean;
  /** With Metal3's hosts, what happens to those that Metal3 manages. */
  readonly hosts: "" | "refuse" | "via-host";
  readonly fileInventory: boolean;
  readonly watched: "" | "machines" | "*";
  readonly secretNamespace: boolean;
  readonly wakeUp: boolean;
  readonly rufio: "" | "v1alpha1" | "v1alpha2";
  /** Whether Rufio's work includes the status of Hardware. */
  readonly hardwareStatus: boolean;
  readonly agentAttributes: boolean;
  /** Whether machines are compared with their desired states. */
  readonly compares: boolean;
  readonly shared: boolean;
}

/** What parts of the worker say that they need, and when they are at work. */
interface Feature {
  readonly rights: readonly NeededRight[];
  readonly isChosen: (choices: Choices) => boolean;
}

const usesMachines = ({ machines, hardware, rufio }: Choices): boolean =>
  machines || hardware || rufio !== "";
const usesInventory = (choices: Choices): boolean => usesMachines(choices) || choices.hosts !== "";
const usesCluster = (choices: Choices): boolean =>
  choices.runtime === "kubernetes" || usesInventory(choices) || choices.shared;
const isElsewhere = ({ watched, secretNamespace }: Choices): boolean => watched !== "" || secretNamespace;

const only = (rights: readonly NeededRight[], ...resources: readonly string[]): readonly NeededRight[] =>
  rights.filter(({ resource }) => resources.includes(resource));
const but = (rights: readonly NeededRight[], ...resources: readonly string[]): readonly NeededRight[] =>
  rights.filter(({ resource }) => !resources.includes(resource));

const FEATURES: readonly Feature[] = [
  { rights: but(RUNTIME_RIGHTS, "secrets"), isChosen: ({ runtime }) => runtime === "kubernetes" },
  {
    rights: only(RUNTIME_RIGHTS, "secrets"),
    isChosen: (choices) =>
      choices.runtime === "kubernetes" &&
      (choices.fileInventory || choices.hosts !== "" || (usesMachines(choices) && isElsewhere(choices))),
  },
  { rights: only(INVENTORY_RIGHTS, "machines"), isChosen: usesMachines },
  {
    rights: only(INVENTORY_RIGHTS, "hardware"),
    isChosen: ({ hardware, rufio }) => hardware || rufio === "v1alpha2",
  },
  {
    rights: only(INVENTORY_RIGHTS, "baremetalhosts", "hostclaims", "hostdeploypolicies", "namespaces").filter(
      ({ verbs }) => !verbs.includes("patch"),
    ),
    isChosen: ({ hosts }) => hosts !== "",
  },
  {
    rights: INVENTORY_RIGHTS.filter(({ verbs }) => verbs.includes("patch")),
    isChosen: ({ hosts }) => hosts === "via-host",
  },
  {
    rights: only(INVENTORY_RIGHTS, "secrets"),
    isChosen: (choices) =>
      choices.hosts !== "" ||
      (usesMachines(choices) &&
        (choices.runtime !== "kubernetes" ||
          choices.rufio !== "" ||
          choices.agentAttributes ||
          choices.compares ||
          choices.watched !== "")),
  },
  { rights: EVENT_RIGHTS, isChosen: (choices) => choices.compares && usesMachines(choices) },
  { rights: WAKE_UP_RIGHTS, isChosen: (choices) => choices.wakeUp && usesCluster(choices) },
  ...(["v1alpha1", "v1alpha2"] as const).flatMap((api) =>
    [true, false].map((hardware) => ({
      rights: rufioRights({ api, hardware }),
      isChosen: ({ rufio, hardwareStatus }: Choices) => rufio === api && hardwareStatus === hardware,
    })),
  ),
  { rights: leaderRights("pbnj-worker"), isChosen: ({ shared }) => shared },
];

/** `scope verb resource.group`, sorted, each once. */
export function neededRights(choices: Choices): readonly string[] {
  const chosen = FEATURES.filter(({ isChosen }) => isChosen(choices));
  return sorted(
    chosen.flatMap(({ rights }) =>
      rights.flatMap(({ scope, verbs, resource, group }) =>
        verbs.map((verb) => rightText(placeOf(scope, choices), verb, resource, group)),
      ),
    ),
  );
}

export function rightText(place: string, verb: string, resource: string, group: string): string {
  return `${place}: ${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}

export function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

function placeOf(scope: NeededRight["scope"], { watched }: Choices): string {
  return scope === "own" || watched === "" ? "own" : watched;
}

/** Every one that can be. To rights, the processes of a pod are what the worker itself is. */
export function everyChoice(): readonly Choices[] {
  const either = [false, true];
  return product<Choices>({
    runtime: ["kubernetes", "in-process"],
    watched: ["", "machines", "*"],
    machines: either,
    hardware: either,
    hosts: ["", "refuse", "via-host"],
    fileInventory: either,
    secretNamespace: either,
    wakeUp: either,
    rufio: ["", "v1alpha1", "v1alpha2"],
    hardwareStatus: either,
    agentAttributes: either,
    compares: either,
    shared: either,
  }).filter(
    (choices) =>
      (!choices.secretNamespace || usesInventory(choices)) &&
      // What is granted for hosts does not depend on these.
      (choices.hosts === "" || !(choices.fileInventory || choices.secretNamespace || choices.shared)) &&
      (!choices.hardwareStatus || choices.rufio !== "") &&
      (choices.rufio !== "v1alpha2" || !choices.machines) &&
      // The rights to watch Workflows and to lead are the same whatever else the worker reads.
      (!choices.wakeUp || !(choices.fileInventory || choices.secretNamespace)) &&
      (!choices.wakeUp || choices.hosts === "" || !usesMachines(choices)) &&
      (!choices.shared || !(choices.fileInventory || choices.secretNamespace || choices.hardware)) &&
      // Neither has anything to do with these.
      [choices.hardwareStatus, choices.agentAttributes, choices.compares].filter(Boolean).length < 2 &&
      ((!choices.hardwareStatus && !choices.agentAttributes && !choices.compares) ||
        !(choices.wakeUp || choices.fileInventory || choices.shared || choices.hosts === "refuse")) &&
      (!choices.shared || choices.runtime === "kubernetes"),
  );
}

function product<T extends object>(options: { readonly [Key in keyof T]: readonly T[Key][] }): readonly T[] {
  let rows: readonly Partial<T>[] = [{}];
  for (const key of Object.keys(options) as (keyof T)[]) {
    rows = rows.flatMap((row) => options[key].map((option) => ({ ...row, [key]: option })));
  }
  return rows as readonly T[];
}
