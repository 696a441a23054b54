import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { isAmong } from "../../policy/wildcard.ts";
import { IdentityAccess } from "./identity-access.ts";
import type { MachineSource, SourceAccess } from "./inventory-source.ts";
import { KubeconfigAccess } from "./kubeconfig-access.ts";
import type { MachineSourceConfig } from "./machine-settings.ts";
import { ownAccess } from "./own-access.ts";
import { sourceLog } from "./source-log.ts";

interface SourceUse {
  /** The worker's own. */
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Where the settings say that machines are read from; the worker's own cluster first. */
export function openSources(
  sources: readonly MachineSourceConfig[],
  use: SourceUse,
): readonly MachineSource[] {
  return sources.map((source) => {
    const { name, inventory: kinds, watchNamespace, prefix } = source;
    const mayUse = workflowRule(source, use.cluster.namespace);
    return {
      name,
      kinds,
      isOwn: source.access === undefined,
      watchNamespace,
      access: accessOf(source, use),
      ...(prefix !== undefined && { prefix }),
      ...(mayUse && { mayUse }),
    };
  });
}

function accessOf({ name, access }: MachineSourceConfig, { cluster, clock, log }: SourceUse): SourceAccess {
  if (!access) return ownAccess(cluster);
  const { contextName } = access;
  const common = { contextName, clock, log: sourceLog(log, name) };
  if (access.kind === "file") return new KubeconfigAccess({ path: access.path, ...common });
  return new IdentityAccess({
    cluster,
    secret: { namespace: cluster.namespace, name: access.secret },
    ...common,
  });
}

/**
 * Equal names of namespaces in two clusters need not mean the same tenant: unless the settings say so, only workflows of the
 * worker's own namespace may use machines of another cluster.
 */
function workflowRule(
  { access, workflowNamespaces }: MachineSourceConfig,
  own: string,
): MachineSource["mayUse"] {
  const allowed = workflowNamespaces ?? (access ? [own] : "same");
  return allowed === "same" ? undefined : (namespace) => isAmong(namespace, allowed);
}
