import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { defined } from "../../shared/defined.ts";
import type { Secret } from "../../shared/secret.ts";
import { agentIdsOf } from "../machines/agent-id.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { Policy } from "../policy/policy.ts";
import type { TrustSettings } from "../policy/settle-trust.ts";
import type { PodConfig } from "../runtime/kubernetes/spec.ts";
import { DEFAULT_HTTP_ADDRESS, type ListenAddress } from "./http-address.ts";
import type { NamedFiles } from "./named-files.ts";
import type { Settings } from "./schema.ts";

/** A file and what stood in it. */
export interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** Where the tink server is and how to trust it. */
export interface ServerConfig {
  /** `host:port`, IPv6 in brackets. */
  readonly server: string;
  readonly tls: boolean;
  readonly insecureTls: boolean;
  /** PEM. */
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: Secret;
  readonly serverName?: string;
  readonly pollTimeoutMs: number;
  readonly api: "auto" | "current" | "legacy";
}

/** Who pulls images from one registry. */
export interface RegistryLogin {
  /** `docker.io` or `host[:port]`. */
  readonly registry: string;
  readonly username: string;
  readonly password: Secret;
}

export type RuntimeConfig =
  | { readonly kind: "process"; readonly actionsDirectory?: string }
  | { readonly kind: "in-process" }
  | {
      readonly kind: "docker";
      readonly socketPath: string;
      readonly network: string;
      readonly pullPolicy: "always" | "if-missing" | "never";
      /** `uid` or `uid:gid`, for images that name no user or root. */
      readonly user: string;
      readonly memoryBytes: number;
      readonly cpus: number;
      readonly pids: number;
      readonly registryLogin?: RegistryLogin;
    }
  | ({ readonly kind: "kubernetes" } & PodConfig);

/** Kubeconfig file for the cluster, and what of it is used beside running actions there. */
export interface KubernetesConfig {
  /** Absolute. */
  readonly kubeconfig?: string;
  /** Of the worker's own objects; absent for what `Cluster` finds out. */
  readonly namespace?: string;
  /** What is watched there; `*` is all namespaces; absent is the worker's own. */
  readonly watchNamespace?: string;
  readonly inventory: readonly ("machines" | "hardware")[];
  readonly wakeUp: boolean;
  readonly rufio?: RufioConfig;
  /** Absent where this worker has all lanes for itself. */
  readonly sharing?: { readonly group: string };
}

export interface RufioConfig {
  /** With `{action}`, and maybe `{version}`. */
  readonly image: string;
  /** 0 is only after actions. */
  readonly statusIntervalMs: number;
  readonly leaseNamespace?: string;
}

/** What running actions needs to know, wherever they come from, checked, with the files it names already read. */
export interface ExecutionConfig {
  readonly agentIdPattern: string;
  readonly backoffMaxIntervalMs: number;
  readonly defaultActionTimeoutMs: number;
  readonly maxActions: number;
  readonly stopGraceMs: number;
  readonly runtime: RuntimeConfig;
  /** Absent where nothing of a cluster is used. */
  readonly kubernetes?: KubernetesConfig;
  readonly inventory: Inventory;
  /** As `settleTrust` made it. */
  readonly policy: Policy;
  /** For a policy that is read again. */
  readonly trust: TrustSettings;
  readonly log: {
    readonly level: "debug" | "info" | "warn" | "error";
    readonly format: "auto" | "json" | "pretty";
  };
}

/** Everything `pbnj-worker start` needs to know. */
export interface WorkerConfig extends ExecutionConfig {
  /** All to poll with at start: fixed ones and one for each machine. */
  readonly agentIds: readonly string[];
  /** Beside those that each machine has. */
  readonly fixedAgentIds: readonly string[];
  /** Absolute. */
  readonly stateDirectory: string;
  /** What is taken in anew whenever it changes. */
  readonly watched: { readonly inventory?: NamedText; readonly policy?: NamedText };
  /** 0 is never. */
  readonly reloadIntervalMs: number;
  readonly server: ServerConfig;
  readonly shutdownGraceMs: number;
  /** Absent where nothing is to be served. */
  readonly http?: HttpConfig;
  /** Absent where none are kept. */
  readonly actionLog?: ActionLogConfig;
}

export interface HttpConfig extends ListenAddress {
  /** The address was configured: the worker does not start without it. */
  readonly required: boolean;
  readonly files: HttpFiles;
}

/** What protects the pages that the worker serves. All absent is plain HTTP for every visitor. */
export interface HttpFiles {
  readonly token?: SecretText;
  /** With its chain; never without `key`. */
  readonly certificate?: NamedText;
  readonly key?: SecretText;
  readonly clientCa?: NamedText;
}

/** A file with a secret in it. */
export interface SecretText {
  readonly path: string;
  readonly text: Secret;
}

/** Where the actions' own logs are kept, and how many of them. */
export interface ActionLogConfig {
  /** Absolute. */
  readonly directory: string;
  readonly maxAgeMs: number;
  /** Of all together. */
  readonly maxBytes: number;
}

export interface ExecutionConfigParts {
  readonly settings: Settings;
  readonly files: NamedFiles;
  readonly inventory: Inventory;
  readonly policy: Policy;
}

export interface ConfigParts extends ExecutionConfigParts {
  readonly settings: Settings & { readonly grpcServer: string };
  readonly watched: WorkerConfig["watched"];
  readonly stateDirectory: string;
}

/** Settings as the worker's parts take them, with units in their names. */
export function composeConfig(parts: ConfigParts): WorkerConfig {
  const { settings, files, watched, stateDirectory } = parts;
  const { ca, clientCertificate, clientKey } = files;
  return {
    ...composeExecutionConfig(parts),
    agentIds: agentIdsOf(settings.agentId, settings.agentIdPattern, parts.inventory.machines()),
    fixedAgentIds: settings.agentId,
    stateDirectory,
    watched,
    reloadIntervalMs: settings.reloadInterval,
    server: {
      server: settings.grpcServer,
      tls: settings.grpcTls,
      insecureTls: settings.grpcInsecureTls,
      ...defined({ ca, clientCertificate, clientKey, serverName: settings.grpcServerName }),
      pollTimeoutMs: settings.pollTimeout,
      api: settings.grpcApi,
    },
    shutdownGraceMs: settings.shutdownGrace,
    ...httpConfig(settings, files.http),
    ...actionLogConfig(settings, stateDirectory),
  };
}

const DAY_MS = 24 * 3_600_000;

function httpConfig({ httpAddress }: Settings, files: HttpFiles): Pick<WorkerConfig, "http"> {
  if (httpAddress === "off") return {};
  if (httpAddress === undefined) return { http: { ...DEFAULT_HTTP_ADDRESS, required: false, files } };
  return { http: { ...httpAddress, required: true, files } };
}

function actionLogConfig(settings: Settings, stateDirectory: string): Pick<WorkerConfig, "actionLog"> {
  const { actionLogDirectory, actionLogDays, actionLogMaxSize: maxBytes } = settings;
  if (maxBytes === 0) return {};
  const directory = resolve(actionLogDirectory ?? join(stateDirectory, "logs"));
  return { actionLog: { directory, maxAgeMs: actionLogDays * DAY_MS, maxBytes } };
}

export function composeExecutionConfig(parts: ExecutionConfigParts): ExecutionConfig {
  const { settings, files, inventory, policy } = parts;
  return {
    agentIdPattern: settings.agentIdPattern,
    backoffMaxIntervalMs: settings.backoffMaxInterval,
    defaultActionTimeoutMs: settings.defaultActionTimeout,
    maxActions: settings.maxActions ?? defaultMaxActions(settings.runtime),
    stopGraceMs: settings.stopGrace,
    runtime: runtimeConfig(settings, files),
    ...kubernetesConfig(settings),
    inventory,
    policy,
    trust: trustSettings(settings),
    log: { level: settings.logLevel, format: settings.logFormat },
  };
}

export function trustSettings({
  runtime,
  unsafeAnyImage,
  rufio,
  rufioImage,
}: Pick<Settings, "rufio" | "rufioImage" | "runtime" | "unsafeAnyImage">): TrustSettings {
  return { runtime, unsafeAnyImage, ...(rufio && { rufioImage }) };
}

/** A pod without a node of its own costs the worker little: the cluster decides how many run. */
const MOST_PODS = 500;

/** An action of its own process takes some 80 MB and, most of its time, waits. */
function defaultMaxActions(runtime: Settings["runtime"]): number {
  switch (runtime) {
    case "in-process":
      return 1_000;
    case "kubernetes":
      return MOST_PODS;
    default:
      return Math.min(8 * availableParallelism(), 64);
  }
}

function runtimeConfig(settings: Settings, files: NamedFiles): RuntimeConfig {
  if (settings.runtime === "process") {
    const { actionsDirectory } = settings;
    return { kind: "process", ...defined({ actionsDirectory }) };
  }
  if (settings.runtime === "in-process") return { kind: "in-process" };
  if (settings.runtime === "kubernetes") return { kind: "kubernetes", ...podConfig(settings) };
  const password = files.registryPassword ?? settings.registryPass;
  const { registryName: registry, registryUser: username } = settings;
  return {
    kind: "docker",
    socketPath: settings.dockerSocket,
    network: settings.dockerNetwork,
    pullPolicy: settings.pullPolicy,
    user: settings.actionUser,
    memoryBytes: settings.memoryLimit,
    cpus: settings.cpuLimit,
    pids: settings.pidsLimit,
    ...(username === undefined || password === undefined
      ? {}
      : { registryLogin: { registry, username, password } }),
  };
}

function podConfig(settings: Settings): PodConfig {
  const { kubernetesServiceAccount: serviceAccount } = settings;
  return {
    pullPolicy: settings.pullPolicy,
    user: settings.actionUser,
    memoryBytes: settings.memoryLimit,
    cpus: settings.cpuLimit,
    startTimeoutMs: settings.podStartTimeout,
    ...defined({ serviceAccount }),
    nodeSelector: settings.podNodeSelector,
    tolerations: settings.podTolerations,
    pullSecrets: settings.podPullSecrets,
    labels: settings.podLabels,
    annotations: settings.podAnnotations,
  };
}

/** Waking up is worth a connection to a cluster only where there is one anyway, unless it was asked for. */
function kubernetesConfig(settings: Settings): Pick<ExecutionConfig, "kubernetes"> {
  const { runtime, kubernetesInventory, rufio, shareLanes, wakeUp } = settings;
  // Rufio's Jobs are for Machines.
  const inventory = [...new Set([...kubernetesInventory, ...(rufio ? (["machines"] as const) : [])])];
  const isUsed = runtime === "kubernetes" || inventory.length > 0 || shareLanes;
  if (!isUsed && wakeUp !== "on") return {};
  const { kubeconfig, kubernetesNamespace: namespace, watchNamespace, rufioLeaseNamespace } = settings;
  return {
    kubernetes: {
      ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(kubeconfig) }),
      ...defined({ namespace, watchNamespace }),
      inventory,
      wakeUp: wakeUp !== "off",
      ...(rufio && {
        rufio: {
          image: settings.rufioImage,
          statusIntervalMs: settings.rufioStatusInterval,
          ...defined({ leaseNamespace: rufioLeaseNamespace }),
        },
      }),
      ...(shareLanes && { sharing: { group: settings.shareGroup } }),
    },
  };
}
