import { availableParallelism } from "node:os";
import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { LOG_LEVELS } from "../../shared/logger.ts";
import type { CrossCheck } from "../config/cross-check.ts";
import type { ConfigPart, Loading } from "../config/part.ts";
import { type SettingsOf, setting } from "../config/setting.ts";
import { Count, Duration, List, Text, Toggle } from "../document/value-types.ts";
import { AgentId, AgentIdPattern } from "../machines/agent-id.ts";
import { type Shard, ShardText } from "../machines/shard.ts";
import type { ContainerSettings } from "../runtimes/container-settings.ts";
import { type DockerConfig, dockerConfig } from "../runtimes/docker/docker-settings.ts";
import type { PodConfig } from "../runtimes/kubernetes/job-spec.ts";
import { podConfig } from "../runtimes/kubernetes/pod-settings.ts";

// The settings of the core, and of what creates it.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const files = {
  config: setting(Text.optional(), {
    description: "YAML file with settings; flags and environment variables override it",
    type: "file",
    noFileKey: "names the configuration file itself: set it with --config or PBNJ_CONFIG",
    policyTest: true,
  }),
  inventory: setting(Text.optional(), {
    description: "YAML file that lists the machines and the sources of their credentials",
    type: "file",
    chart: { derivedFrom: "inventory.file or inventory.existing" },
    policyTest: true,
  }),
  policy: setting(Text.optional(), {
    description: "YAML file that defines which actions may run",
    type: "file",
    defaultText: "none; `docker` and `kubernetes` need one",
    chart: { derivedFrom: "policy.file or policy.existing" },
    policyTest: true,
  }),
  unsafeAnyImage: setting(Toggle.prefault(false), {
    description:
      "DANGER: trust every image; any image that a workflow names receives the machine's BMC password",
    policyTest: true,
  }),
  stateDirectory: setting(Text.optional(), {
    description:
      "Folder for the worker's state, such as running and ended actions; each worker needs its own",
    type: "folder",
    defaultText: "`$XDG_STATE_HOME/pbnj-worker`, or `~/.local/state/pbnj-worker`",
    chart: { derivedFrom: "state.persistence" },
    not: ["run"],
  }),
  reloadInterval: setting(Duration(0, HOUR_MS).prefault("2s"), {
    description:
      "How often the worker checks the inventory, policy, token and certificate files for changes; 0 means never",
    type: "duration",
    not: ["run"],
  }),
};

const fileConcerns: readonly CrossCheck<SettingsOf<typeof files> & { readonly runtime: string }>[] = [
  {
    settings: ["unsafeAnyImage", "runtime"],
    broken: ({ unsafeAnyImage, runtime }) =>
      unsafeAnyImage && (runtime === "docker" || runtime === "kubernetes"),
    message: "trusts every image: any image that a workflow names receives the machine's BMC password",
  },
];

interface FilesPart {
  /** An absolute path. */
  readonly stateDirectory: string;
  /** 0 disables reloading. */
  readonly reloadIntervalMs: number;
}

export const fileSettings = {
  group: "Files",
  settings: files,
  concerns: fileConcerns,
  config: ({ reloadInterval: reloadIntervalMs }, { stateDirectory }): FilesPart => ({
    stateDirectory,
    reloadIntervalMs,
  }),
} satisfies ConfigPart<SettingsOf<typeof files> & { readonly runtime: string }>;

const agentIds = {
  agentId: setting(List(AgentId).prefault([]), {
    description: "Agent ID to poll with; repeat the flag or separate several with commas",
    type: "id",
    aliases: ["AGENT_ID", "ID", "WORKER_ID"],
    chart: { value: "agentIds" },
    not: ["run"],
  }),
  agentIdPattern: setting(AgentIdPattern.prefault("pbnj-{machine}"), {
    description:
      "Pattern for the agent ID of each machine in the inventory; the worker also polls with these",
    type: "pattern",
    chart: { value: "agentIdPattern" },
    policyTest: true,
  }),
  shard: setting(ShardText.optional(), {
    description:
      "Part of the agent IDs and machines that this worker serves, such as `0/4`; `auto/4` is the number at the end of the host's name, modulo 4",
    type: "n/m",
    defaultText: "all",
    chart: { derivedFrom: "shards" },
    not: ["run"],
  }),
};
type AgentIdsGiven = SettingsOf<typeof agentIds> & {
  readonly grpcServer: string | undefined;
  readonly inventory: string | undefined;
  readonly kubernetesInventory: readonly string[];
  readonly kubernetesSources: readonly object[];
  readonly rufio: boolean;
};

const agentIdRules: readonly CrossCheck<AgentIdsGiven>[] = [
  {
    settings: ["grpcServer", "rufio"],
    not: ["run", "serve"],
    broken: ({ grpcServer, rufio }) => grpcServer === undefined && !rufio,
    message: "is missing: the tink server's address, host:port",
  },
  {
    settings: ["agentId", "inventory", "kubernetesInventory", "kubernetesSources"],
    not: ["run", "serve"],
    broken: ({ agentId, inventory, kubernetesInventory, kubernetesSources, rufio }) =>
      [agentId, kubernetesInventory, kubernetesSources].every(({ length }) => length === 0) &&
      inventory === undefined &&
      !rufio,
    message: "is missing, and so is {inventory}: the worker has no agent ID to poll with",
  },
];

interface AgentIdsPart {
  readonly agentIdPattern: string;
  /** Agent IDs in addition to those of the machines. */
  readonly fixedAgentIds: readonly string[];
  /** Absent for a worker that has all agent IDs and machines. */
  readonly shard?: Shard;
}

export const agentIdSettings = {
  group: "Agent IDs",
  not: ["serve"],
  settings: agentIds,
  rules: agentIdRules,
  config: ({ agentIdPattern, agentId, grpcServer, shard }, { command }): AgentIdsPart => ({
    agentIdPattern,
    fixedAgentIds: grpcServer === undefined ? [] : agentId,
    // A run uses the machines that its template names.
    ...(command !== "run" && defined({ shard })),
  }),
} satisfies ConfigPart<AgentIdsGiven>;

const PEER_RUNTIMES: Readonly<Record<string, string>> = {
  containerd: "containerd is not supported: use docker, which works with any Docker Engine API",
};

/** Any case is accepted, like in Tinkerbell's agent. */
const RuntimeName = z.preprocess(
  (given) => (typeof given === "string" ? given.trim().toLowerCase() : given),
  z.enum(["process", "in-process", "docker", "kubernetes"], {
    error: ({ input }) => (typeof input === "string" ? PEER_RUNTIMES[input] : undefined),
  }),
);

const actions = {
  maxActions: setting(Count(1, 100_000).optional(), {
    description:
      "Maximum number of actions that run at the same time, on all machines; started workflows come first",
    type: "count",
    defaultText: "1000 for in-process, else 8 per processor and at most 64",
    not: ["run"],
  }),
  defaultActionTimeout: setting(Duration(SECOND_MS, 168 * HOUR_MS).prefault("1h"), {
    description: "Timeout of an action whose template sets none",
    type: "duration",
  }),
  stopGrace: setting(Duration(0, 10 * MINUTE_MS).prefault("10s"), {
    description: "Time between asking an action to stop and killing it",
    type: "duration",
    chart: { value: "stopGrace" },
  }),
  shutdownGrace: setting(Duration(0, 168 * HOUR_MS).prefault("5m"), {
    description: "Time that running actions have to finish after the worker's first SIGTERM",
    type: "duration",
    chart: { derivedFrom: "shutdownGrace" },
    not: ["run"],
  }),
  runtime: setting(RuntimeName.prefault("process"), {
    description:
      "How to run actions: as child processes, inside the worker, in containers, or as Jobs in a cluster",
    aliases: ["AGENT_RUNTIME"],
    chart: { derivedFrom: "runtime.kind" },
    policyTest: true,
  }),
};
type ActionsGiven = SettingsOf<typeof actions> &
  ContainerSettings &
  Parameters<typeof dockerConfig>[0] &
  Parameters<typeof podConfig>[0] & { readonly actionsDirectory: string | undefined };

export type RuntimeConfig =
  | { readonly kind: "process"; readonly actionsDirectory?: string | undefined }
  | { readonly kind: "in-process" }
  | ({ readonly kind: "docker" } & DockerConfig)
  | ({ readonly kind: "kubernetes" } & PodConfig);

interface ActionsPart {
  readonly maxActions: number;
  readonly defaultActionTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly shutdownGraceMs: number;
  readonly runtime: RuntimeConfig;
}

/** A pod costs the worker little, and the cluster decides how many run. */
const MAX_PODS = 500;

/** An action in its own process needs about 80 MB and mostly waits. */
function defaultMaxActions(runtime: ActionsGiven["runtime"]): number {
  switch (runtime) {
    case "in-process":
      return 1_000;
    case "kubernetes":
      return MAX_PODS;
    default:
      return Math.min(8 * availableParallelism(), 64);
  }
}

function runtimeConfig(given: ActionsGiven, loading: Loading): RuntimeConfig {
  const { runtime: kind, actionsDirectory } = given;
  switch (kind) {
    case "process":
      return { kind, actionsDirectory };
    case "in-process":
      return { kind };
    case "docker":
      return { kind, ...dockerConfig(given, loading) };
    case "kubernetes":
      return { kind, ...podConfig(given) };
    default:
      return kind satisfies never;
  }
}

export const actionSettings = {
  group: "Actions",
  settings: actions,
  config: (given, loading): ActionsPart => ({
    maxActions: given.maxActions ?? defaultMaxActions(given.runtime),
    defaultActionTimeoutMs: given.defaultActionTimeout,
    stopGraceMs: given.stopGrace,
    shutdownGraceMs: given.shutdownGrace,
    runtime: runtimeConfig(given, loading),
  }),
} satisfies ConfigPart<ActionsGiven>;

/** A number is also accepted, like in other workers: 0 is info, larger numbers log more. */
const LogLevel = z.preprocess((given) => {
  const level = /^[+-]?\d+$/.test(String(given)) ? Number(given) : undefined;
  if (level === undefined) return given;
  return level > 0 ? "debug" : level === 0 ? "info" : level > -8 ? "warn" : "error";
}, z.enum(LOG_LEVELS));

const log = {
  logLevel: setting(LogLevel.prefault("info"), {
    description: "Minimum level of the messages to write",
    aliases: ["AGENT_LOG_LEVEL"],
  }),
  logFormat: setting(z.enum(["auto", "json", "pretty"]).prefault("auto"), {
    description: "Log format: one JSON object per line, or readable text; auto uses text on a terminal",
  }),
};

interface LogPart {
  readonly log: { readonly level: LogSettings["logLevel"]; readonly format: LogSettings["logFormat"] };
}
type LogSettings = SettingsOf<typeof log>;

export const logSettings = {
  group: "Log",
  settings: log,
  config: ({ logLevel: level, logFormat: format }): LogPart => ({ log: { level, format } }),
} satisfies ConfigPart<LogSettings>;
