import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { isAmong } from "../../policy/wildcard.ts";
import { IdentityAccess } from "./identity-access.ts";
import type { MachineSource, SourceAccess } from "./inventory-source.ts";
import { KubeconfigAccess } from "./kubeconfig-access.ts";
import type { MachineSourceConfig } from "./machine-settings.ts";
import { sourceLog } from "./source-log.ts";

interface SourceUse {
  /** The worker's own cluster. */
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Opens the machine sources of the settings. */
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
      prefix,
      mayUse,
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

/** Gives a source the worker's own connection, which never changes and which the source does not close. */
export function ownAccess(cluster: Cluster): SourceAccess {
  return {
    async run(use, signal) {
      use({ cluster, close: async () => undefined });
      await raceAbort(new Promise<never>(() => undefined), signal).catch(() => undefined);
    },
    problem: () => undefined,
  };
}

/**
 * Decides which workflows may use the machines of a source. Namespaces with the same name in two clusters need not belong to
 * the same tenant, so by default only workflows of the worker's own namespace may use machines of another cluster.
 */
function workflowRule(
  { access, workflowNamespaces }: MachineSourceConfig,
  own: string,
): MachineSource["mayUse"] {
  const allowed = workflowNamespaces ?? (access ? [own] : "same");
  return allowed === "same" ? undefined : (namespace) => isAmong(namespace, allowed);
}
