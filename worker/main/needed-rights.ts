import type { ClusterUse, NamedRights } from "../features/feature.ts";
import type { NeededRight } from "../kubernetes/client/needed-right.ts";
import { leaderRights } from "../kubernetes/leader/leader-rights.ts";
import { RIGHTS as RUNTIME_RIGHTS } from "../runtimes/kubernetes/runtime-rights.ts";
import { FEATURES } from "./features.ts";

/** What a worker with these settings needs of the Kubernetes API. */
export function neededRights(config: ClusterUse): readonly NamedRights[] {
  const { kubernetes, runtime } = config;
  if (!kubernetes) return [];
  const { leaderElection } = kubernetes;
  return [
    ...(runtime.kind === "kubernetes" ? [{ name: "runtime", rights: runtimeRights(config) }] : []),
    ...FEATURES.flatMap((feature) => feature.rights?.(config) ?? []),
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
