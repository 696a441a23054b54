import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { defined } from "../../shared/defined.ts";
import type { Secret } from "../../shared/secret.ts";
import { agentIdsOf } from "../machines/agent-id.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { Shard } from "../machines/shard.ts";
import type { Policy } from "../policy/policy.ts";
import type { TrustSettings } from "../policy/settle-trust.ts";
import { type EngineAddress, parseEngineAddress } from "../runtimes/docker/engine-address.ts";
import { parseRegistryName, type RegistryLoginOptions } from "../runtimes/docker/registry-login.ts";
import type { PodConfig } from "../runtimes/kubernetes/job-spec.ts";
import { DEFAULT_HTTP_ADDRESS, type ListenAddress } from "./addresses.ts";
import { LOCAL_SOURCE } from "./local-source.ts";
import { type InventoryKind, isOwnSource, type MachineSourceEntry } from "./machine-source-list.ts";
import {
  type ApiFiles,
  dockerFolder,
  type HttpFiles,
  type NamedFiles,
  type NamedText,
} from "./named-files.ts";
import type { SettingName, Settings } from "./schema.ts";

/** The tink server and its TLS settings. */
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
  readonly api: Settings["grpcApi"];
}

export type RuntimeConfig =
  | { readonly kind: "process"; readonly actionsDirectory?: string }
  | { readonly kind: "in-process" }
  | ({
      readonly kind: "docker";
      readonly engine: EngineAddress;
      readonly network: string;
      readonly pids: number;
      readonly logins: RegistryLoginOptions;
    } & Pick<PodConfig, "pullPolicy" | "user" | "memoryBytes" | "cpus">)
  | ({ readonly kind: "kubernetes" } & PodConfig);

export interface KubernetesConfig {
  /** Absolute. */
  readonly kubeconfig?: string;
  /** Of the worker's own objects; `Cluster` has the default. */
  readonly namespace?: string;
  /** `*` is all namespaces; absent is the worker's own. */
  readonly watchNamespace?: string;
  /** Of the worker's own cluster. */
  readonly inventory: readonly InventoryKind[];
  /** The worker's own cluster first, if it has machines. */
  readonly sources: readonly MachineSourceConfig[];
  /** What happens to BareMetalHosts that Metal3 manages; refused when absent. */
  readonly managedHosts?: "refuse" | "via-host";
  readonly wakeUp: boolean;
  readonly rufio?: RufioConfig;
  /** Absent without leader election. */
  readonly leaderElection?: LeaderElectionConfig;
}

interface LeaderElectionConfig {
  /** Of this shard. */
  readonly lease: string;
  /** The same for all shards: it owns the Jobs. */
  readonly group: string;
}

/** A cluster that machines are read from. */
export interface MachineSourceConfig
  extends Pick<
    MachineSourceEntry,
    "name" | "inventory" | "watchNamespace" | "prefix" | "workflowNamespaces"
  > {
  /** Absent for the worker's own cluster. */
  readonly access?: SourceAccessConfig;
}

/** A Secret in the worker's namespace, or a file with an absolute path. */
type SourceAccessConfig =
  | { readonly kind: "identity"; readonly secret: string; readonly contextName?: string | undefined }
  | { readonly kind: "file"; readonly path: string; readonly contextName?: string | undefined };

export interface RufioConfig {
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  /** 0 means only after actions. */
  readonly statusIntervalMs: number;
  /** Whether the status of Hardware is written. */
  readonly hardware: boolean;
  /** No Rufio runs in the cluster. */
  readonly alone: boolean;
  readonly leaseNamespace?: string;
}

/** PBnJ's API. */
interface PbnjConfig {
  readonly address: ListenAddress;
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  readonly files: ApiFiles;
  readonly allowUnauthenticated: boolean;
  /** Of tokens. */
  readonly issuer?: string;
  readonly audience?: string;
}

/** What running actions needs, whatever their source. */
export interface ExecutionConfig {
  readonly agentIdPattern: string;
  readonly backoffMaxIntervalMs: number;
  readonly defaultActionTimeoutMs: number;
  readonly maxActions: number;
  readonly stopGraceMs: number;
  readonly runtime: RuntimeConfig;
  /** Absent if the worker does not use a cluster. */
  readonly kubernetes?: KubernetesConfig;
  readonly inventory: Inventory;
  /** From `settleTrust`. */
  readonly policy: Policy;
  /** For reloaded policies. */
  readonly trust: TrustSettings;
  readonly log: { readonly level: Settings["logLevel"]; readonly format: Settings["logFormat"] };
}

/** The configuration of `pbnj-worker start` and `serve`. */
export interface WorkerConfig extends ExecutionConfig {
  /** At start: the fixed ones and one per machine. */
  readonly agentIds: readonly string[];
  /** In addition to those of the machines. */
  readonly fixedAgentIds: readonly string[];
  /** Absent for a worker of all agent IDs and machines. */
  readonly shard?: Shard;
  /** Absolute. */
  readonly stateDirectory: string;
  /** Reloaded when they change. */
  readonly watched: { readonly inventory?: NamedText; readonly policy?: NamedText };
  /** 0 means never. */
  readonly reloadIntervalMs: number;
  /** Absent for `pbnj-worker serve`. */
  readonly server?: ServerConfig;
  /** Absent if PBnJ's API is not served. */
  readonly pbnj?: PbnjConfig;
  /** Whether polls carry the hardware of the agent ID's machine. */
  readonly agentAttributes: boolean;
  readonly hardwareMaxAgeMs: number;
  /** Absent if machines are not compared with their desired states. */
  readonly drift?: DriftConfig;
  readonly shutdownGraceMs: number;
  /** Absent if nothing is served. */
  readonly http?: HttpConfig;
  /** Absent if no logs are kept. */
  readonly actionLog?: ActionLogConfig;
}

interface DriftConfig {
  /** Between two comparisons of a machine. */
  readonly intervalMs: number;
  /** How long no other action must have used a machine before it is corrected. */
  readonly quietTimeMs: number;
  /** Of a correction's action, with `{action}` and optionally `{version}`. */
  readonly image: string;
}

export interface HttpConfig extends ListenAddress {
  /** The address was configured, so the worker does not start without it. */
  readonly required: boolean;
  readonly files: HttpFiles;
}

/** Where action logs are kept, and how many. */
export interface ActionLogConfig {
  /** Absolute. */
  readonly directory: string;
  readonly maxAgeMs: number;
  /** Of all logs together. */
  readonly maxBytes: number;
}

export interface ExecutionConfigOptions {
  readonly settings: Settings;
  readonly files: NamedFiles;
  readonly inventory: Inventory;
  readonly policy: Policy;
}

export interface ConfigOptions extends ExecutionConfigOptions {
  readonly watched: WorkerConfig["watched"];
  readonly stateDirectory: string;
}

/** Without `grpcServer` the worker has no tink server to poll. */
export function composeConfig(parts: ConfigOptions): WorkerConfig {
  const { settings, files, watched, stateDirectory } = parts;
  const server = serverConfig(settings, files);
  const fixedAgentIds = server ? settings.agentId : [];
  const machines = server ? parts.inventory.machines() : [];
  const { shard } = settings;
  return {
    ...composeExecutionConfig(parts),
    agentIds: agentIdsOf(fixedAgentIds, settings.agentIdPattern, machines, shard),
    fixedAgentIds,
    ...defined({ shard }),
    stateDirectory,
    watched,
    reloadIntervalMs: settings.reloadInterval,
    ...defined({ server, pbnj: pbnjConfig(settings, files.pbnj), drift: driftConfig(settings) }),
    agentAttributes: server !== undefined && settings.agentAttributes,
    hardwareMaxAgeMs: settings.hardwareMaxAge,
    shutdownGraceMs: settings.shutdownGrace,
    ...httpConfig(settings, files.http),
    ...actionLogConfig(settings, stateDirectory),
  };
}

function serverConfig(
  settings: Settings,
  { ca, clientCertificate, clientKey }: NamedFiles,
): ServerConfig | undefined {
  if (settings.grpcServer === undefined) return undefined;
  return {
    server: settings.grpcServer,
    tls: settings.grpcTls,
    insecureTls: settings.grpcInsecureTls,
    ...defined({ ca, clientCertificate, clientKey, serverName: settings.grpcServerName }),
    pollTimeoutMs: settings.pollTimeout,
    api: settings.grpcApi,
  };
}

function pbnjConfig(settings: Settings, files: ApiFiles): PbnjConfig | undefined {
  const { pbnjAddress: address, pbnjImage: image, pbnjJwtIssuer, pbnjJwtAudience } = settings;
  if (!address) return undefined;
  const allowUnauthenticated = settings.pbnjAuth === "none";
  return {
    ...{ address, image, files, allowUnauthenticated },
    ...defined({ issuer: pbnjJwtIssuer, audience: pbnjJwtAudience }),
  };
}

function driftConfig(settings: Settings): DriftConfig | undefined {
  const { driftInterval: intervalMs, driftQuietTime: quietTimeMs, driftImage: image } = settings;
  return intervalMs === undefined ? undefined : { intervalMs, quietTimeMs, image };
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

export function composeExecutionConfig(parts: ExecutionConfigOptions): ExecutionConfig {
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
  pbnjAddress,
  pbnjImage,
}: Pick<Settings, (typeof TRUST_SETTINGS)[number]>): TrustSettings {
  const images = defined({
    rufioImage: rufio ? rufioImage : undefined,
    pbnjImage: pbnjAddress ? pbnjImage : undefined,
  });
  return { runtime, unsafeAnyImage, ...images };
}

export const TRUST_SETTINGS = [
  "runtime",
  "unsafeAnyImage",
  "rufio",
  "rufioImage",
  "pbnjAddress",
  "pbnjImage",
] as const satisfies readonly SettingName[];

/** A pod costs the worker little: the cluster decides how many run. */
const MAX_PODS = 500;

/** An action in its own process needs about 80 MB and mostly waits. */
function defaultMaxActions(runtime: Settings["runtime"]): number {
  switch (runtime) {
    case "in-process":
      return 1_000;
    case "kubernetes":
      return MAX_PODS;
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
  return {
    kind: "docker",
    engine: engineAddress(settings, files),
    network: settings.dockerNetwork,
    ...containerConfig(settings),
    pids: settings.pidsLimit,
    logins: registryLogins(settings, files),
  };
}

/** The settings were checked. */
function engineAddress(settings: Settings, { engineTls: tls }: NamedFiles): EngineAddress {
  const { dockerSocket } = settings;
  const address = parseEngineAddress(dockerSocket, tls !== undefined) ?? { socketPath: dockerSocket };
  return address.remote ? { remote: { ...address.remote, ...defined({ tls }) } } : address;
}

function registryLogins(settings: Settings, files: NamedFiles): RegistryLoginOptions {
  const password = files.registryPassword ?? settings.registryPass;
  const { registryUser: username, registryLoginFile } = settings;
  const registry = parseRegistryName(settings.registryName) ?? settings.registryName;
  const folder = dockerFolder(settings);
  const loginFile = registryLoginFile ?? (folder && join(folder, "config.json"));
  return {
    registries: username && password ? [{ registry, username, password }] : [],
    ...defined({ loginFile }),
  };
}

function containerConfig({ pullPolicy, actionUser, memoryLimit, cpuLimit }: Settings) {
  return { pullPolicy, user: actionUser, memoryBytes: memoryLimit, cpus: cpuLimit };
}

function podConfig(settings: Settings): PodConfig {
  const { kubernetesServiceAccount: serviceAccount } = settings;
  return {
    ...containerConfig(settings),
    startTimeoutMs: settings.podStartTimeout,
    ...defined({ serviceAccount }),
    nodeSelector: settings.podNodeSelector,
    tolerations: settings.podTolerations,
    pullSecrets: settings.podPullSecrets,
    labels: settings.podLabels,
    annotations: settings.podAnnotations,
  };
}

function rufioConfig(settings: Settings): RufioConfig {
  const { rufioImage: image, rufioStatusInterval: statusIntervalMs, rufioLeaseNamespace } = settings;
  return {
    image,
    statusIntervalMs,
    hardware: settings.rufioHardware,
    alone: settings.rufioAlone,
    ...defined({ leaseNamespace: rufioLeaseNamespace }),
  };
}

/** Waking lanes alone does not justify a connection to a cluster unless it was requested; nor do machines of another one. */
function kubernetesConfig(settings: Settings): Pick<ExecutionConfig, "kubernetes"> {
  const { runtime, kubernetesInventory, kubernetesSources, rufio, leaderElection, wakeUp } = settings;
  const own = kubernetesSources.find(isOwnSource)?.inventory ?? kubernetesInventory;
  // Rufio's Jobs refer to Machines.
  const inventory = [...new Set([...own, ...(rufio ? (["machines"] as const) : [])])];
  const hasIdentity = kubernetesSources.some(({ identityRef }) => identityRef !== undefined);
  const isUsed = runtime === "kubernetes" || inventory.length > 0 || leaderElection || hasIdentity;
  if (!isUsed && wakeUp !== "on" && kubernetesSources.length === 0) return {};
  const { kubeconfig, kubernetesNamespace: namespace, watchNamespace } = settings;
  const optional = defined({
    kubeconfig: kubeconfig === undefined ? undefined : resolve(kubeconfig),
    namespace,
    watchNamespace,
    managedHosts: settings.metal3Managed === "refuse" ? undefined : settings.metal3Managed,
    rufio: rufio ? rufioConfig(settings) : undefined,
    leaderElection: leaderElection ? leaderElectionConfig(settings) : undefined,
  });
  const sources = sourcesConfig(settings, inventory);
  return {
    kubernetes: { inventory, sources, wakeUp: wakeUp === "on" || (wakeUp === "auto" && isUsed), ...optional },
  };
}

function leaderElectionConfig({ leaderElectionLease: group, shard }: Settings): LeaderElectionConfig {
  return { group, lease: shard && shard.of > 1 ? `${group}-${shard.index}` : group };
}

function sourcesConfig(
  { kubernetesSources, watchNamespace }: Settings,
  inventory: readonly InventoryKind[],
): readonly MachineSourceConfig[] {
  const others = kubernetesSources
    .filter((entry) => !isOwnSource(entry))
    .map((entry) => ({
      ...defined({ watchNamespace }),
      ...entry,
      access: accessConfig(entry),
    }));
  if (inventory.length === 0) return others;
  const own = kubernetesSources.find(isOwnSource);
  const local = { name: LOCAL_SOURCE, ...own, inventory: [...inventory], ...defined({ watchNamespace }) };
  return [local, ...others];
}

function accessConfig({ identityRef, kubeconfig = "", contextName }: MachineSourceEntry): SourceAccessConfig {
  if (!identityRef) return { kind: "file", path: resolve(kubeconfig), contextName };
  return { kind: "identity", secret: identityRef.name, contextName: identityRef.contextName };
}
