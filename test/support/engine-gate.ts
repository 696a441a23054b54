import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a call is stopped: before the engine hears of it, or once the engine has answered and its caller has not heard. */
export type Side = "before" | "after";

interface Stop {
  readonly side: Side;
  readonly request: RegExp;
  readonly reached: () => void;
}

/**
 * A proxy between a worker and a real container engine. It passes everything on, and can stop one call exactly where a test
 * wants the worker to die.
 */
export class EngineGate {
  readonly socketPath: string;
  readonly #directory: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stops = new Set<Stop>();

  private constructor(directory: string, enginePath: string) {
    this.#directory = directory;
    this.socketPath = join(directory, "engine.sock");
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#join(client, enginePath));
  }

  static async open(enginePath: string): Promise<EngineGate> {
    const gate = new EngineGate(await mkdtemp(join(tmpdir(), "pbnj-gate-")), enginePath);
    await new Promise<void>((resolve) => gate.#server.listen(gate.socketPath, resolve));
    return gate;
  }

  /**
   * Stops the next call whose first line, `METHOD /path`, fits. Resolves once it is where it stops; its caller never
   * hears of it.
   */
  stopNext(side: Side, request: RegExp): Promise<void> {
    return new Promise((reached) => this.#stops.add({ side, request, reached }));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  #join(client: Socket, enginePath: string): void {
    const engine = createConnection({ path: enginePath, allowHalfOpen: true });
    let stopped: Stop | undefined;
    for (const socket of [client, engine]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    // A client sends the next request of a connection when it has the answer to the one before.
    client.on("data", (chunk: Buffer) => {
      stopped ??= this.#stopFor(chunk);
      if (stopped?.side === "before") stopped.reached();
      else engine.write(chunk);
    });
    engine.on("data", (chunk: Buffer) => {
      if (stopped) stopped.reached();
      else client.write(chunk);
    });
    client.on("end", () => engine.end());
    engine.on("end", () => client.end());
    client.on("close", () => engine.destroy());
    engine.on("close", () => client.destroy());
  }

  #stopFor(chunk: Buffer): Stop | undefined {
    const line = firstLine(chunk);
    const stop = [...this.#stops].find(({ request }) => request.test(line));
    if (stop) this.#stops.delete(stop);
    return stop;
  }
}

function firstLine(chunk: Buffer): string {
  return chunk.toString("latin1").split("\r\n", 1)[0] ?? "";
}
