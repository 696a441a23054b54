import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls, type PeerCertificate } from "node:tls";
import { defined } from "../../shared/defined.ts";
import { addressOf, createDialer, type ServerOptions, usesProxy } from "../sources/grpc/dial.ts";
import { openConnection } from "../sources/grpc/http2-connection.ts";
import type { ProxyAnswer } from "./proxy-answer.ts";

/** The time limit of a recheck. A recheck sends nothing that the server could act on, and nothing through a proxy. */
export interface RecheckLimits {
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** The server's certificate, whether it is trusted or not; undefined without a TLS handshake. Sends no client certificate. */
export async function fetchCertificate(
  options: ServerOptions,
  { ms, signal }: RecheckLimits,
): Promise<PeerCertificate | undefined> {
  if (usesProxy(options)) return undefined;
  const { server, serverName } = options;
  const { host, port } = addressOf(server);
  const servername = serverName ?? (isIP(host) ? "" : host);
  const tcp = connectTcp({ host, port });
  const socket = connectTls({ socket: tcp, servername, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    return await new Promise<PeerCertificate | undefined>((resolve) => {
      const give = () => resolve(undefined);
      socket.once("secureConnect", () => resolve(socket.getPeerCertificate()));
      for (const end of [tcp, socket]) end.on("error", give).on("close", give);
      bound.addEventListener("abort", give, { once: true });
    });
  } finally {
    socket.destroy();
    tcp.destroy();
  }
}

/** The server's answer to a HEAD request over HTTP/1.1; undefined if it is not HTTP. Sends no client certificate. */
export async function askOverHttp1(
  options: ServerOptions,
  { ms, signal }: RecheckLimits,
): Promise<ProxyAnswer | undefined> {
  if (usesProxy(options)) return undefined;
  const { server, serverName, tls } = options;
  const { host, port } = addressOf(server);
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  const common = { host, port, method: "HEAD", path: "/", signal: bound, agent: false };
  return new Promise((resolve) => {
    const request = tls
      ? requestHttps({
          ...common,
          servername: serverName ?? (isIP(host) ? "" : host),
          rejectUnauthorized: false,
        })
      : requestHttp(common);
    request.on("error", () => resolve(undefined));
    request.on("response", ({ statusCode = 0, headers }) => {
      resolve({ status: statusCode, headers });
      request.destroy();
    });
    request.end();
  });
}

/** Whether the server uses HTTP/2 without TLS. */
export async function acceptsPlaintext(
  { server, proxy }: ServerOptions,
  { ms, signal }: RecheckLimits,
): Promise<boolean> {
  const dialer = createDialer({ server, tls: false, connectTimeoutMs: ms, ...defined({ proxy }) });
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    const connection = await openConnection(dialer, { pingIntervalMs: 60_000, pingTimeoutMs: 60_000 }, bound);
    await connection.close();
    return true;
  } catch {
    return false;
  }
}
