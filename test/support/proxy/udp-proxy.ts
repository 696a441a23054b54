import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { Direction } from "./direction.ts";
import { LossyLine, type LossyLineOptions } from "./lossy-line.ts";

export interface UdpProxyOptions {
  /** Where it leads, on loopback. */
  readonly port: number;
  /** Latency each way, and shares of datagrams that are lost, come twice or come late. */
  readonly network?: Partial<LossyLineOptions>;
  /** What is put on the wire in place of a datagram; nothing drops it. */
  readonly rewrite?: (datagram: Buffer, direction: Direction) => readonly Buffer[];
  /** Called for each datagram that comes in. */
  readonly onPassed?: (direction: Direction, bytes: number) => void;
}

/** Starts a relay in front of a UDP port; it is bound when the promise resolves. */
export async function startUdpProxy(options: UdpProxyOptions): Promise<UdpProxy> {
  const proxy = new UdpProxy(options);
  await proxy.bind();
  return proxy;
}

/** The way to a UDP server: counts what passes, takes its time, and breaks as configured. The owner closes it. */
export class UdpProxy {
  /** Datagrams from clients, and from the server, before anything is done to them. */
  readonly packets = { up: 0, down: 0 };
  /** Times that an answer came after one or more datagrams from the client: datagrams sent together are one. */
  roundTrips = 0;
  readonly #options: UdpProxyOptions;
  readonly #socket = createSocket("udp4");
  /** One socket a client towards the server, as a router's translation table has. */
  readonly #upstream = new Map<number, Socket>();
  readonly #lines: Readonly<Record<Direction, LossyLine>>;
  #target: number;
  #waiting = false;
  #blackHole = false;
  #closed: Promise<void> | undefined;

  constructor(options: UdpProxyOptions) {
    this.#options = options;
    this.#target = options.port;
    const network = { latencyMs: 0, loss: 0, duplication: 0, reordering: 0, seed: 1, ...options.network };
    this.#lines = { up: new LossyLine(network), down: new LossyLine({ ...network, seed: ~network.seed }) };
  }

  async bind(): Promise<void> {
    this.#socket.bind(0, "127.0.0.1");
    await once(this.#socket, "listening");
    this.#socket.on("message", (datagram, { port }) => this.#fromClient(datagram, port));
    // A client that has gone answers with ICMP.
    this.#socket.on("error", () => undefined);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Forgets what was counted. */
  forget(): void {
    this.packets.up = 0;
    this.packets.down = 0;
    this.roundTrips = 0;
    this.#waiting = false;
  }

  /** Swallows everything until `restore`. */
  cut(): void {
    this.#blackHole = true;
  }

  /** Ends `cut`; everything leads to `port` from now on where one is given. */
  restore(port: number = this.#target): void {
    if (port !== this.#target) this.#dropUpstream();
    this.#target = port;
    this.#blackHole = false;
  }

  /** The port is closed when the promise resolves: ICMP then reports it to senders. */
  close(): Promise<void> {
    this.#closed ??= this.#free();
    return this.#closed;
  }

  async #free(): Promise<void> {
    for (const line of Object.values(this.#lines)) line.close();
    this.#dropUpstream();
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #fromClient(datagram: Buffer, client: number): void {
    this.packets.up += 1;
    this.#options.onPassed?.("up", datagram.length);
    this.#waiting = true;
    this.#carry("up", datagram, (part) => this.#upstreamOf(client).send(part, this.#target, "127.0.0.1"));
  }

  #fromServer(datagram: Buffer, client: number): void {
    this.packets.down += 1;
    this.#options.onPassed?.("down", datagram.length);
    if (this.#waiting) this.roundTrips += 1;
    this.#waiting = false;
    this.#carry("down", datagram, (part) => this.#socket.send(part, client, "127.0.0.1"));
  }

  #carry(direction: Direction, datagram: Buffer, deliver: (part: Buffer) => void): void {
    if (this.#blackHole) return;
    for (const part of this.#options.rewrite?.(datagram, direction) ?? [datagram]) {
      this.#lines[direction].carry(() => deliver(part));
    }
  }

  #upstreamOf(client: number): Socket {
    const known = this.#upstream.get(client);
    if (known) return known;
    const socket = createSocket("udp4");
    socket.on("message", (datagram) => this.#fromServer(datagram, client));
    socket.on("error", () => undefined);
    this.#upstream.set(client, socket);
    return socket;
  }

  #dropUpstream(): void {
    for (const socket of this.#upstream.values()) socket.close();
    this.#upstream.clear();
  }
}
