import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Session } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { tlsOptions } from "../../../listener/listening-server.ts";
import type { ServerTls } from "../../../listener/server-tls.ts";
import type { Connections } from "./connections.ts";
import type { ApiRequest, ApiResponse } from "./dispatch.ts";
import type { ListenerLimits } from "./limits.ts";
import { sniffProtocol } from "./sniff-protocol.ts";

export interface ApiServerOptions {
  readonly tls: ServerTls;
  readonly connections: Connections;
  readonly limits: ListenerLimits;
  readonly onRequest: (request: ApiRequest, response: ApiResponse) => void;
}

/** How many streams a client may reset at once, and then per second (CVE-2023-44487). */
const RESETS = { streamResetBurst: 200, streamResetRate: 20 };
/** TCP keep-alive asks a silent client after a minute whether it still exists. */
const SOCKETS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

/** A server of HTTP/1.1 and HTTP/2: with TLS as ALPN says, in plaintext as the first bytes say. */
export function createApiServer({ tls, connections, limits, onRequest }: ApiServerOptions): Server {
  const { streams, headerBytes, headersTimeoutMs, keepAliveMs } = limits;
  const http2 = {
    settings: { maxConcurrentStreams: streams, maxHeaderListSize: headerBytes },
    maxSessionInvalidFrames: streams,
    ...RESETS,
  };
  const onSession = (session: ServerHttp2Session) => connections.useSession(session);
  const onConnection = (socket: Socket) => connections.admit(socket, tls.options !== undefined);
  if (tls.options) {
    const options = { allowHTTP1: true, ...SOCKETS, ...http2, ...tlsOptions(tls, headersTimeoutMs) };
    const server = createSecureServer(options, onRequest).on("session", onSession);
    // Before Node creates the session.
    server.prependListener("secureConnection", (socket: TLSSocket) => connections.secured(socket));
    return server.on("connection", onConnection);
  }
  const http1Server = createHttp1Server(
    { maxHeaderSize: headerBytes, keepAliveTimeout: keepAliveMs },
    onRequest,
  );
  const http2Server = createHttp2Server(http2, onRequest).on("session", onSession);
  return createServer(SOCKETS, (socket) => {
    onConnection(socket);
    sniffProtocol(socket, (protocol) =>
      (protocol === "http2" ? http2Server : http1Server).emit("connection", socket),
    );
  });
}
