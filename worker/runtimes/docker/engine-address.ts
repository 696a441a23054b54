import { isIP } from "node:net";
import type { Secret } from "../../../shared/secret.ts";

export const DEFAULT_SOCKET = "/var/run/docker.sock";

/** Client certificate and authority for an engine behind TLS, all PEM. */
export interface EngineTls {
  readonly ca: string;
  readonly certificate: string;
  readonly key: Secret;
}

/** An engine that listens on a TCP port. */
export interface RemoteEngine {
  readonly host: string;
  readonly port: number;
  readonly tls?: EngineTls;
}

/** Where a container engine listens. */
export type EngineAddress =
  | { readonly socketPath: string; readonly remote?: undefined }
  | { readonly remote: RemoteEngine; readonly socketPath?: undefined };

/** The ports that Docker uses. */
const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** Parses a socket's path, `unix:///path` or `tcp://host:port`, as in DOCKER_HOST. Undefined for other text. */
export function parseEngineAddress(text: string, hasTls = false): EngineAddress | undefined {
  const [, scheme, rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme === undefined) return { socketPath: text };
  if (scheme === "unix") return rest.startsWith("/") ? { socketPath: rest } : undefined;
  if (scheme !== "tcp") return undefined;
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i.exec(rest) ?? [];
  if (host === undefined || Number(port) > 65_535) return undefined;
  const defaultPort = hasTls ? TLS_PORT : PLAIN_PORT;
  return { remote: { host: host.replace(/^\[|\]$/g, ""), port: port ? Number(port) : defaultPort } };
}

/** Whether the address requires TLS. Without it, passwords on an action's stdin would cross the network in plain text. */
export function mustHaveTls({ remote }: EngineAddress): boolean {
  return remote !== undefined && !/^(localhost|127(\.\d+){3}|::1)$/i.test(remote.host);
}

/** Formats the address for people as a path or a URL. */
export function showEngineAddress({ socketPath, remote }: EngineAddress): string {
  if (remote === undefined) return socketPath;
  const host = isIP(remote.host) === 6 ? `[${remote.host}]` : remote.host;
  return `tcp://${host}:${remote.port}`;
}
