import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  getCACertificates,
} from "node:tls";
import { defined } from "../../../shared/defined.ts";
import { zoneProblem } from "../../../shared/ip-address.ts";
import type { Secret } from "../../../shared/secret.ts";
import { type Address, type HttpProxy, isDirect, openTunnel } from "./http-proxy.ts";

/** The address of a tink server, and how to trust it. */
export interface ServerOptions {
  /** `host:port`, or `host` with the API's default port 42113; IPv6 addresses in brackets. */
  readonly server: string;
  /** False means HTTP/2 in plain text, like a tink server without a certificate. */
  readonly tls: boolean;
  /** Accepts any certificate. */
  readonly insecureTls?: boolean;
  /** PEM certificates to trust instead of Node's and the system's. */
  readonly ca?: string;
  /** A client certificate in PEM, with its chain. */
  readonly clientCertificate?: string;
  readonly clientKey?: Secret;
  /** The name to request and verify, if it is not the host's. */
  readonly serverName?: string;
  /** Time for the TCP connection and the TLS handshake together; a proxy gets as much for its answer. */
  readonly connectTimeoutMs?: number;
  readonly proxy?: HttpProxy;
}

/** How to reach one server: its origin, and new sockets to it. */
export interface Dialer {
  readonly url: string;
  /** Resolves before the socket is connected, unless it goes through a proxy. */
  dial(signal: AbortSignal): Promise<Socket>;
}

const DEFAULT_PORT = 42_113;
const CONNECT_TIMEOUT_MS = 10_000;

/** Creates a dialer. Throws a `TypeError` if `options.server` is not an address. Opens nothing. */
export function createDialer(options: ServerOptions): Dialer {
  const { host, port } = addressOf(options.server);
  const address = { host, port, noDelay: true };
  const secure = options.tls ? tlsOptions(options, host) : undefined;
  const { proxy, connectTimeoutMs: timeoutMs = CONNECT_TIMEOUT_MS } = options;
  // A zone is valid only on this host (RFC 6874), and URLs cannot contain one.
  const bare = host.replace(/%.*$/, "");
  const authority = bare.includes(":") ? `[${bare}]` : bare;
  return {
    url: new URL(`${secure ? "https" : "http"}://${authority}:${port}`).origin,
    async dial(signal) {
      if (proxy && usesProxy(options)) {
        const tunnel = await openTunnel(proxy, `${authority}:${port}`, timeoutMs, signal);
        if (!secure) return tunnel;
        const socket = connectTls({ socket: tunnel, host, ...secure });
        boundConnecting(socket, "secureConnect", timeoutMs);
        return socket;
      }
      const socket = secure ? connectTls({ ...address, ...secure }) : connectTcp(address);
      const wrongZone = zoneProblem(host);
      if (wrongZone) socket.destroy(wrongZone);
      boundConnecting(socket, secure ? "secureConnect" : "connect", timeoutMs);
      return socket;
    },
  };
}

/** Whether the server is reached through a proxy. Throws a `TypeError` if the server is not an address. */
export function usesProxy({ server, proxy }: ServerOptions): boolean {
  return proxy !== undefined && !isDirect(proxy.noProxy, addressOf(server));
}

/** Parses `ServerOptions.server`. Throws a `TypeError` if it is not an address. */
export function addressOf(server: string): Address {
  const address =
    /^(?:\[(?<ipv6>[0-9a-f:.]+(?:%[^\s[\]/?#@]+)?)\]|(?<name>[^\s:/?#@[\]]+))(?::(?<port>\d{1,5}))?$/i;
  const groups = address.exec(server.trim())?.groups;
  const host = groups?.["ipv6"] ?? groups?.["name"];
  const port = Number(groups?.["port"] ?? DEFAULT_PORT);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new TypeError(`${JSON.stringify(server)} is not host:port`);
  }
  return { host, port };
}

function tlsOptions(options: ServerOptions, host: string): ConnectionOptions {
  const serverName = options.serverName ?? (isIP(host) ? undefined : host);
  return {
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: !options.insecureTls,
    // No certificate names the zone of a link-local address.
    checkServerIdentity: (name, certificate) => checkServerIdentity(name.replace(/%.*$/, ""), certificate),
    // Companies install their root certificates in the system's store, not in Node's.
    ca: options.ca ?? [...getCACertificates("default"), ...getCACertificates("system")],
    ...defined({
      servername: serverName,
      cert: options.clientCertificate,
      key: options.clientKey?.reveal(),
    }),
  };
}

/** Limits the time to connect. Otherwise a host that drops packets holds every call for minutes, until the system times out. */
function boundConnecting(socket: Socket, connected: "connect" | "secureConnect", ms: number): void {
  const timer = setTimeout(() => {
    socket.destroy(Object.assign(new Error(`no connection within ${ms} ms`), { code: "ETIMEDOUT" }));
  }, ms);
  for (const event of [connected, "close"]) socket.once(event, () => clearTimeout(timer));
}
