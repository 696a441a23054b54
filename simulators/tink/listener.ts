import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import { listenOn } from "../free-port.ts";

export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** The CA in PEM that must have signed the clients' certificates. */
  readonly clientCa?: string;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: ServerTls;
  /** The number of simultaneous calls on a connection, as a proxy would limit it. Unlimited by default. */
  readonly maxConcurrentStreams?: number;
}

type Handler = ReturnType<typeof connectNodeAdapter>;

// A worker has a thousand calls open and cancels them all at once, which no limit here may prevent.
const LIMITS = {
  maxSessionMemory: 1_000,
  streamResetBurst: 1_000_000,
  streamResetRate: 1_000_000,
};

/** How long clients may take to disconnect. */
const ORDERLY_STOP_MS = 1_000;

/** An HTTP/2 server that can stop and restart on the same port, and that tracks its connections. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #handler: Handler;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<Socket>();
  #server: Http2Server | Http2SecureServer | undefined;
  #port: number;
  #accepted = 0;

  constructor(options: ListenerOptions, handler: Handler) {
    this.#options = options;
    this.#handler = handler;
    this.#port = options.port;
  }

  get port(): number {
    return this.#port;
  }

  /** The number of HTTP/2 connections accepted since the start, and the number of open ones. */
  get connections(): { readonly accepted: number; readonly open: number } {
    return { accepted: this.#accepted, open: this.#sessions.size };
  }

  async start(): Promise<void> {
    if (this.#server) return;
    const server = createHttp2Server(this.#options, this.#handler);
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("session", (session: ServerHttp2Session) => {
      this.#accepted += 1;
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      // Clients that vanish are normal.
      session.on("error", () => undefined);
    });
    await listenOn(this.#port, async (port) => {
      await once(server.listen(port, this.#options.host), "listening");
      this.#port = port;
    });
  }

  /** Sends GOAWAY on every connection, so that open calls may end on it, or destroys it. */
  dropConnections(how: "goaway" | "destroy"): void {
    if (how === "goaway") for (const session of this.#sessions) session.close();
    else for (const socket of this.#sockets) socket.destroy();
  }

  async stop(how: "cut" | "orderly"): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    this.dropConnections(how === "cut" ? "destroy" : "goaway");
    const cut = setTimeout(() => this.dropConnections("destroy"), ORDERLY_STOP_MS);
    await closed;
    clearTimeout(cut);
  }
}

function createHttp2Server(options: ListenerOptions, handler: Handler): Http2Server | Http2SecureServer {
  const { tls, maxConcurrentStreams = 2 ** 31 - 1 } = options;
  const limits = { ...LIMITS, settings: { maxConcurrentStreams } };
  if (tls === undefined) return createServer(limits, handler);
  const clients = tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true };
  const server = createSecureServer({ ...limits, cert: tls.cert, key: tls.key, ...clients }, handler);
  return server.on("tlsClientError", () => undefined);
}
