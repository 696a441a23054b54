import { once } from "node:events";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { printable, shortened } from "../../../shared/printable.ts";
import { Secret } from "../../../shared/secret.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { textOf } from "../../../shared/text-of.ts";

/** A host, IPv6 with its zone and without brackets, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** An HTTP proxy between the worker and the tink server, as the variables HTTPS_PROXY and NO_PROXY describe it. */
export interface HttpProxy {
  /** A URL of `http://` or `https://`, which may contain user and password. */
  readonly url: Secret;
  /**
   * Targets that are reached directly: names with their subdomains, addresses or networks, each with an optional port, or
   * `*`.
   */
  readonly noProxy: string;
}

/** The reason why a tunnel failed. It is the cause of a `ConnectError`, whose class has its own `instanceof`. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
}

const OK = 200;
const LONGEST_REASON = 500;

/** Whether the address is reached without the proxy. Loopback always is, like in every Go program. */
export function isDirect(noProxy: string, { host, port }: Address): boolean {
  const name = host.toLowerCase().replace(/%.*$/, "").replace(/\.$/, "");
  if (name === "localhost" || isIn(name, "127.0.0.0/8") || isIn(name, "::1/128")) return true;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === "*") return true;
      const [, pattern = "", own] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (pattern === "" || (own !== undefined && Number(own) !== port)) return false;
      const bare = pattern.replace(/^\[|\]$/g, "");
      if (isIP(bare.split("/")[0] ?? "")) return isIn(name, bare);
      const domain = bare.replace(/^\*?\./, "");
      return name === domain || name.endsWith(`.${domain}`);
    });
}

/** Whether an address is equal to or within a network; false for a name and for an invalid network. */
function isIn(address: string, network: string): boolean {
  const [base = "", prefix] = network.split("/");
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0 || isIP(base) !== isIP(address)) return false;
  const list = new BlockList();
  try {
    list.addSubnet(base, Number(prefix ?? (family === "ipv6" ? 128 : 32)), family);
  } catch {
    return false;
  }
  return list.check(address, family);
}

/** Opens a tunnel with CONNECT (RFC 9110 section 9.3.6). Rejects with a `ConnectError`, whose cause is a `ProxyError` that names the proxy without its password. */
export async function openTunnel(
  { url }: HttpProxy,
  authority: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const { protocol, hostname, port, username, password, origin } = new URL(url.reveal());
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const request = (protocol === "https:" ? requestHttps : requestHttp)({
    method: "CONNECT",
    host: hostname.replace(/^\[|\]$/g, ""),
    ...(port && { port }),
    path: authority,
    headers: {
      host: authority,
      ...(username && { "proxy-authorization": `Basic ${login.toString("base64")}` }),
    },
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  // A proxy may repeat what was sent to it.
  const redact = redactor({
    username: decodeURIComponent(username),
    password: new Secret(decodeURIComponent(password)),
    encoded: new Secret(password),
  });
  const failed = (why: string) => {
    const cause = new ProxyError(`the proxy ${origin} ${shortened(printable(redact(why)), LONGEST_REASON)}`);
    return new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
  };
  request.end();
  const [response, socket, head] = (await once(request, "connect").catch((thrown: unknown) => {
    const isLate = thrown instanceof Error && thrown.name === "AbortError" && !signal.aborted;
    throw failed(isLate ? `does not answer within ${timeoutMs} ms` : `cannot be used: ${textOf(thrown)}`);
  })) as [IncomingMessage, Socket, Buffer];
  if (response.statusCode !== OK) {
    socket.destroy();
    throw failed(`answers ${response.statusCode} ${response.statusMessage ?? ""} to CONNECT ${authority}`);
  }
  if (head.length > 0) socket.unshift(head);
  return socket;
}
