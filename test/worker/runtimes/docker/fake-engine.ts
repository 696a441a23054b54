import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Reply = (response: ServerResponse, request: IncomingMessage, body: string) => void;
/** `METHOD /path` without version and query, with `*` for any part of the path. */
export type Routes = Readonly<Record<string, Reply>>;

/** What happens to an attached connection. */
export type OnAttach = ((socket: Socket) => void) | { readonly status: string; readonly body: string };

/** A server that speaks as much of the Engine API as a test says, over a unix socket, and can misbehave. */
export class FakeEngine {
  readonly socketPath: string;
  /** `METHOD /path?query` of every request, in order. */
  readonly requests: string[] = [];
  /** The API versions that requests were made in. */
  readonly versions = new Set<string>();
  /** The X-Registry-Auth header of the last request that had one. */
  registryAuth: string | undefined;
  /** What arrived on the last attached connection's stdin. */
  stdin = "";
  readonly #server: Server;
  readonly #directory: string;
  readonly #sockets = new Set<Socket>();

  private constructor(directory: string, routes: Routes, onAttach: OnAttach) {
    this.#directory = directory;
    this.socketPath = join(directory, "engine.sock");
    this.#server = createServer((request, response) => {
      const key = this.#record(request);
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const auth = request.headers["x-registry-auth"];
        if (typeof auth === "string") this.registryAuth = auth;
        const reply = routeOf(routes, key) ?? json(404, { message: `no route for ${key}` });
        reply(response, request, Buffer.concat(chunks).toString());
      });
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket: Socket) => {
      this.#record(request);
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => {
        this.stdin += chunk.toString();
      });
      if (typeof onAttach !== "function") {
        const { status, body } = onAttach;
        socket.end(`HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
        return;
      }
      socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      onAttach(socket);
    });
  }

  static async start(routes: Routes, onAttach: OnAttach = () => undefined): Promise<FakeEngine> {
    const directory = await mkdtemp(join(tmpdir(), "pbnj-engine-"));
    const engine = new FakeEngine(
      directory,
      { "GET /version": json(200, { ApiVersion: "1.41" }), ...routes },
      onAttach,
    );
    await new Promise<void>((resolve) => engine.#server.listen(engine.socketPath, resolve));
    return engine;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  #record({ method = "", url = "" }: IncomingMessage): string {
    const version = /^\/v(\d+\.\d+)\//.exec(url)?.[1];
    if (version) this.versions.add(version);
    const unversioned = url.replace(/^\/v\d+\.\d+/, "");
    this.requests.push(`${method} ${unversioned}`);
    return `${method} ${unversioned.replace(/\?.*/, "")}`;
  }
}

export function json(status: number, body: unknown): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
}

export function empty(status: number): Reply {
  return (response) => {
    response.writeHead(status);
    response.end();
  };
}

/** Answers with each of the replies in turn, then with the last. */
export function inTurn(...replies: readonly Reply[]): Reply {
  let next = 0;
  return (...args) => {
    const reply = replies[Math.min(next, replies.length - 1)];
    next += 1;
    reply?.(...args);
  };
}

/** Never answers. */
export const silence: Reply = () => undefined;

/** Breaks the connection without an answer. */
export const hangUp: Reply = (response) => response.socket?.destroy();

/** A frame of the engine's multiplexed output. */
export function frame(stream: "stdout" | "stderr", text: string): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream === "stdout" ? 1 : 2;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function routeOf(routes: Routes, key: string): Reply | undefined {
  return Object.entries(routes).find(([pattern]) => {
    const escaped = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${escaped.join("[^/]+")}$`).test(key);
  })?.[1];
}
