import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Session } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { tlsOptions } from "../../../listener/listening-server.ts";
import type { ServerTls } from "../../../listener/server-tls.ts";
import type { Connections } from "./connections.ts";
import type { ApiRequest, ApiResponse } from "./dispatch.ts";
import type { ListenerLimits } from "./limits.ts";

/** The start of an HTTP/2 connection with prior knowledge (RFC 9113 section 3.4). No HTTP/1.1 request starts with it. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Calls back once a plaintext connection has sent enough to tell HTTP/2 from HTTP/1.1. The bytes that were read are put
 * back. The caller sets the deadline.
 */
function sniffProtocol(socket: Socket, found: (protocol: "http1" | "http2") => void): void {
  let seen = Buffer.alloc(0);
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const compared = Math.min(seen.length, PREFACE.length);
    const agrees = seen.subarray(0, compared).equals(PREFACE.subarray(0, compared));
    if (agrees && seen.length < PREFACE.length) return;
    socket.off("readable", onReadable);
    socket.unshift(seen);
    found(agrees ? "http2" : "http1");
  };
  socket.on("readable", onReadable);
}

export interface ApiServerOptions {
  readonly tls: ServerTls;
  readonly connections: Connections;
  readonly limits: ListenerLimits;
  readonly onRequest: (request: ApiRequest, response: ApiResponse) => void;
}

/** How many streams a client may reset in a burst, and then per second (CVE-2023-44487). */
const RESETS = { streamResetBurst: 200, streamResetRate: 20 };
/** TCP keep-alive probes a silent client after a minute. */
const SOCKETS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

/** Creates a server for HTTP/1.1 and HTTP/2. With TLS, ALPN selects the protocol; in plaintext, the first bytes do. */
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
    // This must run before Node creates the session.
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
