import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Direction } from "./direction.ts";
import type { PassedRequest } from "./request-reader.ts";
import { type TcpFault, TcpFaults } from "./tcp-fault.ts";
import { Wire } from "./wire.ts";

export interface TcpProxyOptions {
  /** Where it leads, on loopback. */
  readonly port: number;
  /** Each way; a round trip takes twice as long, and so does a new connection. */
  readonly latencyMs?: number;
  /** Called before a request is passed on, which is when a third party may act. */
  readonly onRequest?: (request: PassedRequest) => void;
  /** Called for each part of a stream that comes in, also if requests are hidden by TLS. */
  readonly onPassed?: (direction: Direction, bytes: number) => void;
  /** How much longer each part takes; none when absent. */
  readonly heldUpMs?: () => number;
}

/** Starts a proxy in front of a TCP port; it listens when the promise resolves. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const proxy = new TcpProxy(options);
  await proxy.listen();
  return proxy;
}

/**
 * The way to an HTTP/1.1 server, or to any other whose requests need not be distinguished (TLS): counts what
 * passes, takes its time, and breaks as configured. The owner closes it.
 */
export class TcpProxy {
  /** Connections accepted so far. */
  connections = 0;
  /** Requests that came in whole, also those that a fault kept from the server. TLS hides them. */
  readonly requests: PassedRequest[] = [];
  readonly #options: TcpProxyOptions;
  readonly #server: Server;
  readonly #faults = new TcpFaults();
  readonly #wires = new Set<Wire>();
  #target: number;
  #whole = true;

  constructor(options: TcpProxyOptions) {
    this.#options = options;
    this.#target = options.port;
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy is not listening");
    return address.port;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#wires.size;
  }

  /** Every request so far as `METHOD path`. */
  get log(): readonly string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  /** Makes the next requests that fit go wrong. */
  fail(fault: TcpFault): void {
    this.#faults.add(fault);
  }

  /** Forgets the requests and connections seen so far. */
  forget(): void {
    this.requests.length = 0;
    this.connections = 0;
  }

  /** Resets every connection, and new ones at once until `restore`. */
  cut(): void {
    this.#whole = false;
    for (const wire of this.#wires) wire.reset();
  }

  /** Ends `cut`; new connections lead to `port` from now on where one is given. */
  restore(port: number = this.#target): void {
    this.#target = port;
    this.#whole = true;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const wire of this.#wires) wire.reset();
    await closed;
  }

  #accept(client: Socket): void {
    this.connections += 1;
    if (!this.#whole) {
      client.on("error", () => undefined).resetAndDestroy();
      return;
    }
    const { latencyMs = 0, heldUpMs = () => 0, onPassed } = this.#options;
    const wire = new Wire(
      client,
      connect(this.#target, "127.0.0.1"),
      { latencyMs, heldUpMs },
      {
        passed: onPassed,
        arrived: (request) => {
          this.requests.push(request);
          this.#options.onRequest?.(request);
          return this.#faults.take(request);
        },
        gone: () => this.#wires.delete(wire),
      },
    );
    this.#wires.add(wire);
  }
}
