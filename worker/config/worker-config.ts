import type { Secret } from "../../shared/secret.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { Policy } from "../policy/policy.ts";
import type { NamedFiles } from "./named-files.ts";
import type { Settings } from "./schema.ts";

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
  /** Fixed agent IDs and one for each machine. */
  readonly agentIds: readonly string[];
  readonly server: ServerConfig;
  readonly shutdownGraceMs: number;
}

export interface ExecutionConfigParts {
  readonly settings: Settings;
  readonly files: NamedFiles;
  readonly inventory: Inventory;
  readonly policy: Policy;
}

export interface ConfigParts extends ExecutionConfigParts {
  readonly settings: Settings & { readonly grpcServer: string };
  readonly agentIds: readonly string[];
}

/** Settings as the worker's parts take them, with units in their names. */
export function composeConfig(parts: ConfigParts): WorkerConfig {
  const { settings, files, agentIds } = parts;
  const { ca, clientCertificate, clientKey } = files;
  return {
    ...composeExecutionConfig(parts),
    agentIds,
    server: {
      server: settings.grpcServer,
      tls: settings.grpcTls,
      insecureTls: settings.grpcInsecureTls,
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
      ...(clientKey === undefined ? {} : { clientKey }),
      ...(settings.grpcServerName === undefined ? {} : { serverName: settings.grpcServerName }),
      pollTimeoutMs: settings.pollTimeout,
    },
    shutdownGraceMs: settings.shutdownGrace,
  };
}

export function composeExecutionConfig(parts: ExecutionConfigParts): ExecutionConfig {
  const { settings, files, inventory, policy } = parts;
  return {
    agentIdPattern: settings.agentIdPattern,
    backoffMaxIntervalMs: settings.backoffMaxInterval,
    defaultActionTimeoutMs: settings.defaultActionTimeout,
    stopGraceMs: settings.stopGrace,
    runtime: runtimeConfig(settings, files),
    inventory,
    policy,
    log: { level: settings.logLevel, format: settings.logFormat },
  };
}

function runtimeConfig(settings: Settings, files: NamedFiles): RuntimeConfig {
  if (settings.runtime === "process") {
    const { actionsDirectory } = settings;
    return { kind: "process", ...(actionsDirectory === undefined ? {} : { actionsDirectory }) };
  }
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
