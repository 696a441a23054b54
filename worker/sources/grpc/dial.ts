import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  getCACertificates,
} from "node:tls";
import { defined } from "../../../shared/defined.ts";
import type { Secret } from "../../../shared/secret.ts";
import { zoneProblem } from "../../../shared/zone-problem.ts";
import { type Address, type HttpProxy, isDirect, openTunnel } from "./http-proxy.ts";

/** Where a tink server is and how to trust it. */
export interface ServerOptions {
  /** `host:port`, or `host` with the API's default port 42113; IPv6 addresses in brackets. */
  readonly server: string;
  /** False speaks HTTP/2 in plain text, as a tink server without a certificate does. */
  readonly tls: boolean;
  /** Accepts any certificate. */
  readonly insecureTls?: boolean;
  /** PEM certificates to trust instead of Node's and the system's. */
  readonly ca?: string;
  /** PEM, with its chain. */
  readonly clientCertificate?: string;
  readonly clientKey?: Secret;
  /** The name to ask for and to verify, where it is not the host's. */
  readonly serverName?: string;
  /** For the TCP connection and the TLS handshake together; a proxy has as long for its answer. */
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

/** Throws a `TypeError` when `options.server` is not an address. Opens nothing yet. */
export function createDialer(options: ServerOptions): Dialer {
  const { host, port } = addressOf(options.server);
  const address = { host, port, noDelay: true };
  const secure = options.tls ? tlsOptions(options, host) : undefined;
  const { proxy, connectTimeoutMs: timeoutMs = CONNECT_TIMEOUT_MS } = options;
  // A zone is only for this host (RFC 6874), and no URL may have one.
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

/** Throws a `TypeError` if the server is no address. */
export function usesProxy({ server, proxy }: Pick<ServerOptions, "server" | "proxy">): boolean {
  return proxy !== undefined && !isDirect(proxy.noProxy, addressOf(server));
}

/** Parses `ServerOptions.server`. Throws a `TypeError` if it is no address. */
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
    // Company roots are installed in the system's store, not in Node's.
    ca: options.ca ?? [...getCACertificates("default"), ...getCACertificates("system")],
    ...defined({
      servername: serverName,
      cert: options.clientCertificate,
      key: options.clientKey?.reveal(),
    }),
  };
}

/** Without this bound, a host that drops packets holds every call for minutes, until the system times out. */
function boundConnecting(socket: Socket, connected: "connect" | "secureConnect", ms: number): void {
  const timer = setTimeout(() => {
    socket.destroy(Object.assign(new Error(`no connection within ${ms} ms`), { code: "ETIMEDOUT" }));
  }, ms);
  for (const event of [connected, "close"]) socket.once(event, () => clearTimeout(timer));
}
