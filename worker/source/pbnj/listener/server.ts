import { once } from "node:events";
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, Server as TlsServer } from "node:tls";
import type { Logger } from "../../../../shared/logger.ts";
import type { ListenAddress } from "../../../config/addresses.ts";
import type { AcceptedCertificate, ApiAccess } from "./api-access.ts";
import type { Connection, Connections } from "./connections.ts";
import type { ApiRequest, ApiResponse } from "./dispatch.ts";
import type { ListenerLimits } from "./limits.ts";
import { sniffProtocol } from "./sniff-protocol.ts";

export interface ApiServerOptions {
  readonly access: ApiAccess;
  readonly connections: Connections;
  readonly limits: ListenerLimits;
  readonly onRequest: (request: ApiRequest, response: ApiResponse) => void;
  readonly log: Logger;
}

/** Of a client that resets streams (CVE-2023-44487): so many at once, and then per second. */
const RESETS = { streamResetBurst: 200, streamResetRate: 20 };
/** When TCP asks a silent client whether it still exists. */
const PROBE_AFTER_MS = 60_000;

/**
 * The sockets of the API. One server accepts connections, and hands each to HTTP/1.1 or HTTP/2: with TLS as ALPN says, in
 * plaintext as the first bytes say.
 */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #server: Server | TlsServer;
  readonly #http1;
  readonly #http2;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { limits, onRequest } = options;
    const { streams, headerBytes, keepAliveMs } = limits;
    this.#http1 = createHttp1Server({ maxHeaderSize: headerBytes, keepAliveTimeout: keepAliveMs }, onRequest);
    this.#http2 = createHttp2Server(
      {
        settings: { maxConcurrentStreams: streams, maxHeaderListSize: headerBytes },
        maxSessionInvalidFrames: streams,
        ...RESETS,
      },
      onRequest,
    );
    this.#server = this.#createServer();
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    this.#followAccess();
  }

  /** Resolves to the actual address. */
  async listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    await once(this.#server.listen({ host, port }), "listening");
    // An unhandled error, for example when no more files can be opened, would end the worker.
    this.#server.on("error", (error) =>
      this.#options.log.warn({ error: error.message }, "connection not accepted"),
    );
    const bound = this.#server.address();
    if (bound === null || typeof bound === "string") throw new TypeError("no address of an internet socket");
    return { host: bound.address, port: bound.port };
  }

  /** Accepts no more connections, and resolves when all are closed. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #createServer(): Server | TlsServer {
    const { access, limits } = this.#options;
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS };
    if (!access.tls) return createServer(options);
    return createTlsServer(
      {
        ...options,
        ...access.tls,
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: limits.headersTimeoutMs,
        // Checked per call: callers without a certificate may have a token, and probes need neither.
        requestCert: access.asksForCertificates,
        rejectUnauthorized: false,
      },
      (socket) => this.#onSecure(socket),
    );
  }

  #followAccess(): void {
    const { access, connections } = this.#options;
    let { authority } = access;
    access.onChange(() => {
      if (this.#server instanceof TlsServer && access.tls) this.#server.setSecureContext(access.tls);
      if (authority === access.authority) return;
      authority = access.authority;
      connections.destroyAll();
    });
  }

  #admit(socket: Socket): void {
    // A connection that is reset is closed as well.
    socket.on("error", () => undefined);
    const connection = this.#options.connections.admit(socket);
    if (this.#server instanceof TlsServer) return;
    sniffProtocol(socket, (protocol) => this.#handOver(socket, connection, protocol));
  }

  #onSecure(socket: TLSSocket): void {
    socket.on("error", () => undefined);
    const connection = this.#options.connections.secured(socket);
    if (!connection) {
      socket.destroy();
      return;
    }
    connection.certificate = acceptedCertificate(socket);
    this.#handOver(socket, connection, socket.alpnProtocol === "h2" ? "http2" : "http1");
  }

  #handOver(socket: Socket, connection: Connection, protocol: "http1" | "http2"): void {
    const { connections } = this.#options;
    if (protocol === "http1") {
      connections.carry(socket, connection);
      this.#http1.emit("connection", socket);
      return;
    }
    // The server creates the session at once, unless the client has disconnected.
    const use = (session: ServerHttp2Session) => {
      connections.carry(session, connection);
      connection.useSession(session);
    };
    this.#http2.once("session", use);
    this.#http2.emit("connection", socket);
    this.#http2.off("session", use);
  }
}

function acceptedCertificate(socket: TLSSocket): AcceptedCertificate | undefined {
  if (!socket.authorized) return undefined;
  const commonName: unknown = socket.getPeerCertificate().subject?.CN;
  return typeof commonName === "string" ? { commonName } : {};
}
