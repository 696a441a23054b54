import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { Secret } from "../../shared/secret.ts";
import { agentIdsOf } from "../inventory/agent-id.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { Policy } from "../policy/policy.ts";
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
    };

/** What running actions needs to know, wherever they come from, checked, with the files it names already read. */
export interface ExecutionConfig {
  readonly agentIdPattern: string;
  readonly backoffMaxIntervalMs: number;
  readonly defaultActionTimeoutMs: number;
  readonly maxActions: number;
  readonly stopGraceMs: number;
  readonly runtime: RuntimeConfig;
  readonly inventory: Inventory;
  readonly policy: Policy;
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
  /** Somebody asked for this address: the worker does not start without it. */
  readonly required: boolean;
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
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
      ...(clientKey === undefined ? {} : { clientKey }),
      ...(settings.grpcServerName === undefined ? {} : { serverName: settings.grpcServerName }),
      pollTimeoutMs: settings.pollTimeout,
      api: settings.grpcApi,
    },
    shutdownGraceMs: settings.shutdownGrace,
    ...httpConfig(settings),
    ...actionLogConfig(settings, stateDirectory),
  };
}

const DAY_MS = 24 * 3_600_000;

function httpConfig({ httpAddress }: Settings): Pick<WorkerConfig, "http"> {
  if (httpAddress === "off") return {};
  if (httpAddress === undefined) return { http: { ...DEFAULT_HTTP_ADDRESS, required: false } };
  return { http: { ...httpAddress, required: true } };
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
    inventory,
    policy,
    log: { level: settings.logLevel, format: settings.logFormat },
  };
}

/** An action of its own process takes some 80 MB and, most of its time, waits. */
function defaultMaxActions(runtime: Settings["runtime"]): number {
  return runtime === "in-process" ? 1_000 : Math.min(8 * availableParallelism(), 64);
}

function runtimeConfig(settings: Settings, files: NamedFiles): RuntimeConfig {
  if (settings.runtime === "process") {
    const { actionsDirectory } = settings;
    return { kind: "process", ...(actionsDirectory === undefined ? {} : { actionsDirectory }) };
  }
  if (settings.runtime === "in-process") return { kind: "in-process" };
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
