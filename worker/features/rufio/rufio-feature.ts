import { version } from "../../../shared/version.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import { hasMachine } from "../../machines/agent-id.ts";
import type { FeatureDefinition, FeaturePart, FeatureServices, SharedConfig } from "../feature.ts";
import { rufioRights } from "./rufio-rights.ts";
import { type RufioPart, rufioSettings } from "./rufio-settings.ts";

type Config = SharedConfig & RufioPart;

const LEASE_MS = 10_000;

/** Does Rufio's work: runs its Jobs and Tasks, and updates the status of Machines and Hardware. */
export const rufio = {
  name: "rufio",
  settings: rufioSettings,
  isUsed: (config) => config.rufio !== undefined,
  rights({ rufio: settings }) {
    return settings ? [{ name: "rufio", rights: rufioRights(settings) }] : [];
  },
  refusal,
  async check(config, { cluster }, signal) {
    const { rufio: settings } = config;
    if (!cluster || !settings) return [];
    const { checkRufioKinds, checkRufioLease } = await import("./check-rufio.ts");
    const [kinds, lease] = await Promise.all([
      checkRufioKinds(settings.api, config.kubernetes?.watchNamespace ?? cluster.namespace, cluster, signal),
      checkRufioLease(settings, cluster, signal),
    ]);
    return [...kinds, ...lease];
  },
  open: openFeature,
} satisfies FeatureDefinition<Config>;

async function refusal({ rufio: settings }: Config, cluster: Cluster): Promise<string | undefined> {
  if (!settings || settings.alone) return undefined;
  const { missingLease } = await import("./rufio-lease.ts");
  const namespace = settings.leaseNamespace ?? cluster.namespace;
  // The worker starts even if the cluster does not answer, because it does no Rufio work until it has read the Lease.
  const missing = await missingLease(cluster, namespace, AbortSignal.timeout(LEASE_MS)).catch(
    () => undefined,
  );
  return (
    missing &&
    `${missing}. Fix: start Rufio once with --rufio-controller-enable-leader-election=true, or set --rufio-alone if no Rufio runs`
  );
}

async function openFeature(services: FeatureServices<Config>): Promise<readonly FeaturePart[]> {
  const { clock, config, log, offers } = services;
  const { cluster, isLeading } = services.control;
  const { inventory, reader } = services.machines;
  const { references, refusal: refuse } = services.rules;
  const { rufio: settings } = config;
  if (!cluster || !settings) return [];
  const { openRufio } = await import("./rufio.ts");
  const watchNamespace = config.kubernetes?.watchNamespace ?? cluster.namespace;
  const machineName = ({ namespace, name }: ObjectName) =>
    watchNamespace === "*" ? `${name}.${namespace}` : name;
  const opened = openRufio({
    cluster,
    watchNamespace,
    version,
    clock,
    log,
    machineName,
    references,
    config: settings,
    refusal: refuse,
    missingSecret: async (name, signal) => {
      const machine = inventory.find(name);
      return machine && inventory.missingSecret(machine, signal);
    },
    // A Kubernetes Job is named after its action, so a launch finds the Job of an earlier worker.
    findsEarlierRuns: config.runtime.kind === "kubernetes",
    owns: (key) => isLeading() && hasMachine(config, machineName(machineOf(key))),
    hardware: settings.hardware ? offers.hardware : undefined,
    getPower: (machine, signal) => reader.getPower(machine, signal),
  });
  const { agentId, observer, source } = opened;
  const problems = () =>
    Object.entries(opened.state().watches).flatMap(([resource, state]) =>
      state.kind === "failing" ? [`Rufio's ${resource}: ${state.error.message}`] : [],
    );
  return [
    { kind: "source", agentId, source },
    { kind: "observer", observer },
    { kind: "facts", cluster: () => ({ problems: problems() }) },
    { kind: "task", run: (stop) => opened.run(stop) },
  ];
}

/** Parses a key such as `rufio/<namespace>/<name>`. */
function machineOf(key: string): ObjectName {
  const [, namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
