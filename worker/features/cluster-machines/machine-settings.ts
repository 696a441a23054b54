import { resolve } from "node:path";
import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { List } from "../../document/value-types.ts";
import {
  InventoryKind,
  isOwnSource,
  LOCAL_SOURCE,
  type MachineSourceEntry,
  MachineSources,
} from "./machine-source-list.ts";

const settings = {
  kubernetesInventory: setting(List(InventoryKind).prefault([]), {
    description:
      "Cluster objects to add to the inventory as machines: Rufio's Machines, Tinkerbell's Hardware, Metal3's BareMetalHosts",
    type: InventoryKind.options.join("|"),
    chart: { value: "inventory.kubernetes" },
  }),
  kubernetesSources: setting(MachineSources.prefault([]), {
    description:
      "Clusters to read machines from: a list of name, identityRef or kubeconfig, and options; as JSON in the environment",
    type: "sources",
    noFlag: "is a list of objects",
    pathKeys: ["kubeconfig"],
    chart: { derivedFrom: "inventory.sources" },
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly rufio: boolean;
  readonly rufioApi: "v1alpha1" | "v1alpha2";
  readonly watchNamespace: string | undefined;
};

const rules: readonly CrossCheck<Given>[] = [
  {
    settings: ["kubernetesSources", "kubernetesInventory", "rufio"],
    broken: ({ kubernetesSources, kubernetesInventory, rufio }) =>
      kubernetesSources.some(isOwnSource) && (kubernetesInventory.length > 0 || rufio),
    message:
      "has an entry for the worker's own cluster, which {kubernetesInventory} or {rufio} selects as well: remove one of them",
  },
  {
    settings: ["kubernetesInventory", "rufio", "rufioApi"],
    broken: ({ kubernetesInventory, rufio, rufioApi }) =>
      rufio && rufioApi === "v1alpha2" && kubernetesInventory.includes("machines"),
    message:
      "selects machines, but with {rufioApi} v1alpha2 a Job names a Hardware, and a Machine may have the same name: remove machines",
  },
];

/** A cluster that has machines. */
export interface MachineSourceConfig {
  readonly name: string;
  readonly inventory: readonly InventoryKind[];
  readonly watchNamespace?: string | undefined;
  readonly prefix?: string | undefined;
  readonly workflowNamespaces?: MachineSourceEntry["workflowNamespaces"];
  /** Absent for the worker's own cluster. */
  readonly access?: SourceAccessConfig;
}

/** How to connect: with a kubeconfig in a Secret of the worker's namespace, or in a file with an absolute path. */
type SourceAccessConfig =
  | { readonly kind: "identity"; readonly secret: string; readonly contextName?: string | undefined }
  | { readonly kind: "file"; readonly path: string; readonly contextName?: string | undefined };

export interface MachinesPart {
  /** The worker's own cluster first, if it has machines. */
  readonly machineSources: readonly MachineSourceConfig[];
}

/** The kinds of objects that are machines in the worker's own cluster. Includes the kind to which Rufio's Jobs refer. */
function ownKinds({ kubernetesSources, kubernetesInventory, rufio, rufioApi }: Given): InventoryKind[] {
  const own = kubernetesSources.find(isOwnSource)?.inventory ?? kubernetesInventory;
  const ofJobs: InventoryKind = rufioApi === "v1alpha2" ? "hardware" : "machines";
  return [...new Set([...own, ...(rufio ? [ofJobs] : [])])];
}

function config(given: Given): MachinesPart {
  const { kubernetesSources, watchNamespace } = given;
  const inventory = ownKinds(given);
  const others = kubernetesSources
    .filter((entry) => !isOwnSource(entry))
    .map((entry) => ({
      ...entry,
      watchNamespace: entry.watchNamespace ?? watchNamespace,
      access: accessConfig(entry),
    }));
  if (inventory.length === 0) return { machineSources: others };
  const own = kubernetesSources.find(isOwnSource);
  const local = { name: LOCAL_SOURCE, ...own, inventory, watchNamespace };
  return { machineSources: [local, ...others] };
}

function accessConfig({ identityRef, kubeconfig = "", contextName }: MachineSourceEntry): SourceAccessConfig {
  if (!identityRef) return { kind: "file", path: resolve(kubeconfig), contextName };
  return { kind: "identity", secret: identityRef.name, contextName: identityRef.contextName };
}

export const machineSettings = {
  group: "Kubernetes",
  settings,
  rules,
  cluster(given) {
    const { kubernetesSources } = given;
    const readsOwn = kubernetesSources.some(({ identityRef }) => identityRef !== undefined);
    if (readsOwn || ownKinds(given).length > 0) return "used";
    return kubernetesSources.length > 0 ? "opened" : undefined;
  },
  config,
} satisfies ConfigPart<Given>;
