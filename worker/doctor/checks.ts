import { silentLogger } from "../../shared/logger.ts";
import { type ClusterOpening, openCluster } from "../compose/cluster/open-cluster.ts";
import { composeRuntime } from "../compose/runtime.ts";
import { settings as table } from "../config/schema.ts";
import { composeConfig, type WorkerConfig } from "../config/worker-config.ts";
import { emptyInventory } from "../machines/inventory.ts";
import { defaultPolicy } from "../policy/policy.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { checkAgentIds } from "./check-agent-ids.ts";
import { checkBmcs } from "./check-bmcs.ts";
import { checkCluster } from "./check-cluster.ts";
import { checkInventory, checkPolicy, checkSettings } from "./check-files.ts";
import { checkImage } from "./check-image.ts";
import { checkRuntime } from "./check-runtime.ts";
import { checkSecrets } from "./check-secrets.ts";
import { checkServer } from "./check-server.ts";
import { checkStateDirectory } from "./check-state-directory.ts";
import type { DoctorOptions } from "./doctor-options.ts";
import type { Examined } from "./examine.ts";
import { type CheckName, type Finding, isSkipped } from "./finding.ts";

/** A look at one thing, which waits for no other. */
export interface Check {
  readonly name: CheckName;
  /** What it may take; absent where it sees to that itself. */
  readonly limitMs?: number;
  run(signal: AbortSignal): Promise<readonly Finding[]>;
}

/** All checks, in the order of the report. */
export function composeChecks(
  examined: Examined,
  { bmc, image, timeoutMs }: Omit<DoctorOptions, "output">,
  own: SelfProgram,
): readonly Check[] {
  const config = configOf(examined);
  const usable = usableGroups(examined);
  return [
    { name: "settings", run: async () => checkSettings(examined) },
    { name: "inventory", run: async () => checkInventory(examined) },
    { name: "policy", run: async () => checkPolicy(examined) },
    { name: "agent-ids", run: async () => checkAgentIds(examined) },
    { name: "secrets", limitMs: timeoutMs, run: (signal) => checkSecrets(examined, signal) },
    {
      name: "state-directory",
      limitMs: timeoutMs,
      run: async (signal) =>
        usable("Files")
          ? checkStateDirectory(config.stateDirectory, signal)
          : [isSkipped("state-directory", FIRST)],
    },
    {
      name: "tink-server",
      limitMs: timeoutMs,
      run: async (signal) =>
        usable("Tink server") && examined.settings.grpcServer !== undefined
          ? checkServer(config.server, timeoutMs, signal)
          : [isSkipped("tink-server", FIRST)],
    },
    {
      name: "cluster",
      limitMs: timeoutMs,
      run: async (signal) =>
        usable("Actions", "Kubernetes", "Kubernetes runtime")
          ? checkCluster(config, timeoutMs, signal)
          : [isSkipped("cluster", FIRST)],
    },
    { name: "runtime", run: (signal) => checkRuntimeAndImage(signal) },
    {
      name: "bmc",
      run: (signal) => checkBmcs({ asked: bmc, inventory: examined.inventory, own, timeoutMs }, signal),
    },
  ];

  /** An image is tried where the runtime is well. */
  async function checkRuntimeAndImage(signal: AbortSignal): Promise<readonly Finding[]> {
    if (!usable("Actions", ...RUNTIME_GROUPS)) {
      return [isSkipped("runtime", FIRST), isSkipped("action-image", FIRST)];
    }
    // Why it cannot be had is said where the cluster is looked at.
    const opening = config.runtime.kind === "kubernetes" ? await openCluster(config) : NO_CLUSTER;
    if (!opening.ok) return [isSkipped("runtime", CLUSTER_FIRST), isSkipped("action-image", CLUSTER_FIRST)];
    const { cluster } = opening;
    // What the trial runs has nothing to clean up.
    const runtime = composeRuntime(
      { ...config, stopGraceMs: 0 },
      { log: silentLogger, own, policy: () => config.policy, cluster },
    );
    try {
      const found = await checkRuntime(config.runtime, runtime, timeoutMs, signal);
      if (found.state !== "ok")
        return [found, isSkipped("action-image", "the runtime must be healthy first")];
      if (!examined.policy) return [found, isSkipped("action-image", "the policy must be valid first")];
      const { policy } = examined;
      const { unsafeAnyImage } = config.trust;
      const trial = { image, config: config.runtime, policy, runtime, own, unsafeAnyImage, timeoutMs };
      return [found, ...(await checkImage(trial, signal))];
    } finally {
      await runtime.close();
      await cluster?.close();
    }
  }
}

const RUNTIME_GROUPS = [
  "Process runtime",
  "Docker runtime",
  "Containers",
  "Image registry",
  "Kubernetes",
  "Kubernetes runtime",
] as const;
const NO_CLUSTER: ClusterOpening = { ok: true, cluster: undefined };
const CLUSTER_FIRST = "the cluster must be healthy first";
const FIRST = "its settings must be valid first";

/** As `start` would have it; what could not be read has its default, and is looked at by nobody. */
function configOf(examined: Examined): WorkerConfig {
  const { settings, files, inventory, policy, watched, stateDirectory } = examined;
  return composeConfig({
    settings: { ...settings, grpcServer: settings.grpcServer ?? "" },
    files,
    inventory: inventory ?? emptyInventory,
    policy: policy ?? defaultPolicy,
    watched,
    stateDirectory,
  });
}

/** Whether all settings of these groups can be relied on, with the files that they name. */
function usableGroups({ settings, invalid, files, complete }: Examined): (...groups: string[]) => boolean {
  const unread = new Set<string>(invalid);
  if (settings.grpcCaFile !== undefined && files.ca === undefined) unread.add("grpcCaFile");
  if (settings.grpcClientCertFile !== undefined && files.clientCertificate === undefined) {
    unread.add("grpcClientCertFile");
  }
  if (settings.grpcClientKeyFile !== undefined && files.clientKey === undefined) {
    unread.add("grpcClientKeyFile");
  }
  if (settings.registryPassFile !== undefined && files.registryPassword === undefined) {
    unread.add("registryPassFile");
  }
  const broken = new Set(table.filter(({ name }) => unread.has(name)).map(({ group }) => group));
  return (...groups) => complete && !groups.some((group) => broken.has(group));
}
