import { silentLogger } from "../../shared/logger.ts";
import type { CheckName } from "../findings/causes.ts";
import { type Finding, skippedFinding } from "../findings/finding.ts";
import { composeRuntime } from "../main/compose-runtime.ts";
import { type ClusterOpening, openCluster } from "../main/open-cluster.ts";
import { settings as table } from "../main/settings.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
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

export interface Check {
  readonly name: CheckName;
  /** The check's time limit; absent if the check limits its own time. */
  readonly limitMs?: number;
  run(signal: AbortSignal): Promise<readonly Finding[]>;
}

/** All checks, in the order of the report. */
export function composeChecks(
  examined: Examined,
  { bmc, image, timeoutMs }: Omit<DoctorOptions, "output">,
  own: SelfProgram,
): readonly Check[] {
  const { config } = examined;
  const usable = usableGroups(examined);
  const isServe = !config.server && config.pbnj !== undefined;
  return [
    { name: "settings", run: async () => checkSettings(examined) },
    { name: "inventory", run: async () => checkInventory(examined) },
    { name: "policy", run: async () => checkPolicy(examined) },
    {
      name: "agent-ids",
      run: async () => (isServe ? [skippedFinding("agent-ids", NO_SERVER)] : checkAgentIds(examined)),
    },
    { name: "secrets", limitMs: timeoutMs, run: (signal) => checkSecrets(examined, signal) },
    checkIf(usable("Files"), "state-directory", (signal) =>
      checkStateDirectory(config.stateDirectory, signal),
    ),
    checkIf(usable("Tink server"), "tink-server", async (signal) => {
      if (config.server) return checkServer(config.server, timeoutMs, signal);
      const isRufioAlone = !config.server && config.rufio !== undefined;
      return [skippedFinding("tink-server", isServe ? NO_SERVER : isRufioAlone ? RUFIO_ONLY : FIRST)];
    }),
    checkIf(usable("Actions", "Kubernetes", "Kubernetes runtime"), "cluster", (signal) =>
      checkCluster(config, timeoutMs, signal),
    ),
    { name: "runtime", run: (signal) => checkRuntimeAndImage(signal) },
    {
      name: "bmc",
      run: (signal) => checkBmcs({ asked: bmc, inventory: examined.inventory, own, timeoutMs }, signal),
    },
  ];

  /** Creates a check that is skipped unless its settings are valid. */
  function checkIf(isUsable: boolean, name: CheckName, run: Check["run"]): Check {
    return {
      name,
      limitMs: timeoutMs,
      run: async (signal) => (isUsable ? run(signal) : [skippedFinding(name, FIRST)]),
    };
  }

  /** Checks the runtime and, if it is healthy, the image. */
  async function checkRuntimeAndImage(signal: AbortSignal): Promise<readonly Finding[]> {
    if (!usable("Actions", ...RUNTIME_GROUPS)) {
      return [skippedFinding("runtime", FIRST), skippedFinding("action-image", FIRST)];
    }
    // The cluster check reports why the cluster cannot be opened.
    const opening = config.runtime.kind === "kubernetes" ? await openCluster(config) : NO_CLUSTER;
    if (!opening.ok)
      return [skippedFinding("runtime", CLUSTER_FIRST), skippedFinding("action-image", CLUSTER_FIRST)];
    const { cluster } = opening;
    // Running `--help` leaves nothing to clean up.
    const runtime = await composeRuntime(
      { ...config, stopGraceMs: 0 },
      { log: silentLogger, own, policy: () => config.policy, cluster },
    );
    try {
      const namedBy = examined.given.get("dockerSocket")?.source;
      const why = namedBy === undefined ? "the default" : `named by ${namedBy}`;
      const found = await checkRuntime(config.runtime, runtime, timeoutMs, signal, why);
      if (found.state !== "ok")
        return [found, skippedFinding("action-image", "the runtime must be healthy first")];
      if (!examined.policy) return [found, skippedFinding("action-image", "the policy must be valid first")];
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
const NO_SERVER = "no tink server is configured, as for pbnj-worker serve";
const RUFIO_ONLY = "no tink server is configured, as for Rufio's work alone";
const FIRST = "its settings must be valid first";

/** Whether all settings of these groups, and the files that they name, are valid. */
function usableGroups({ invalid, unreadable, complete }: Examined): (...groups: string[]) => boolean {
  const wrong = new Set([...invalid, ...unreadable]);
  const broken = new Set(table.filter(({ name }) => wrong.has(name)).map(({ group }) => group));
  return (...groups) => complete && !groups.some((group) => broken.has(group));
}
