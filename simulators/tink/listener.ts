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
  /** PEM; clients must show a certificate it signed. */
  readonly clientCa?: string;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: ServerTls;
  /** How many calls a connection may hold at once, as a proxy would limit it; by default any number. */
  readonly maxConcurrentStreams?: number;
}

type Handler = ReturnType<typeof connectNodeAdapter>;

// A worker has a thousand calls open and cancels them all at once: no limit of ours may get in its way.
const LIMITS = {
  maxSessionMemory: 1_000,
  streamResetBurst: 1_000_000,
  streamResetRate: 1_000_000,
};

/** How long clients may take to leave. */
const ORDERLY_STOP_MS = 1_000;

/** An HTTP/2 server that can stop and restart on the same port, and that knows its connections. */
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

  /** HTTP/2 connections accepted since the beginning, and those open now. */
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
      // A client that vanishes is everyday life.
      session.on("error", () => undefined);
    });
    await listenOn(this.#port, async (port) => {
      await once(server.listen(port, this.#options.host), "listening");
      this.#port = port;
    });
  }

  /** Says goodbye on every connection (open calls may end on it), or cuts it. */
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
