import type { NamedRights } from "../features/feature.ts";
import type { NeededRight } from "../kubernetes/client/needed-right.ts";
import { leaderRights } from "../kubernetes/leader/leader-rights.ts";
import { RIGHTS as RUNTIME_RIGHTS } from "../runtimes/kubernetes/runtime-rights.ts";
import { FEATURES, type WorkerConfig } from "./settings.ts";

/** The permissions that a worker with these settings needs in the Kubernetes API. */
export function neededRights(config: WorkerConfig): readonly NamedRights[] {
  const { kubernetes, leaderElection, runtime } = config;
  if (!kubernetes) return [];
  return [
    ...(runtime.kind === "kubernetes" ? [{ name: "runtime", rights: runtimeRights(config) }] : []),
    ...FEATURES.flatMap((feature) => feature.rights?.(config) ?? []),
    ...(leaderElection ? [{ name: "leader election", rights: leaderRights(leaderElection.lease) }] : []),
  ];
}

/** The permissions of the runtime. It creates Secrets only for machines whose own Secrets a kubelet cannot mount. */
function runtimeRights({ kubernetes, inventory, machineSources }: WorkerConfig): readonly NeededRight[] {
  const { namespace, watchNamespace } = kubernetes ?? {};
  const isOneNamespace = watchNamespace === undefined || watchNamespace === namespace;
  const mountsAll =
    inventory.machines().length === 0 &&
    isOneNamespace &&
    machineSources.every(
      (source) => source.access === undefined && !source.inventory.includes("baremetalhosts"),
    );
  return mountsAll ? RUNTIME_RIGHTS.filter(({ resource }) => resource !== "secrets") : RUNTIME_RIGHTS;
}
