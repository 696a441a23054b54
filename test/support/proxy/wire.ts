import type { Socket } from "node:net";
import { DelayLine } from "./delay-line.ts";
import type { Direction } from "./direction.ts";
import { type PassedRequest, RequestReader } from "./request-reader.ts";
import type { TcpFault } from "./tcp-fault.ts";

export interface WireEvents {
  /** Returns what is to go wrong with the request. */
  readonly arrived: (request: PassedRequest) => TcpFault | undefined;
  readonly gone: () => void;
  /** A part of the stream came in at the proxy. */
  readonly passed?: ((direction: Direction, bytes: number) => void) | undefined;
}

export interface WireDelays {
  /** Each way. */
  readonly latencyMs: number;
  /** How much longer a part of the stream takes, and what follows it, because it was lost and sent again. */
  readonly heldUpMs: () => number;
}

/** TLS record type 22 (RFC 8446 section 5.1): a ClientHello follows, and then nothing that could be read here. */
const TLS_HANDSHAKE = 0x16;

/** One connection through a proxy: a client's socket and one to the server. Either end frees both. */
export class Wire {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #up: DelayLine;
  readonly #down: DelayLine;
  readonly #events: WireEvents;
  readonly #reader = new RequestReader();
  /** Loopback connects at once; over a real wire the first byte waits for a round trip. */
  readonly #connectedMs: number;
  readonly #heldUpMs: () => number;
  #opaque: boolean | undefined;
  #fault: TcpFault | undefined;
  /** Bytes of the answer to the request that met `#fault`. */
  #answered = 0;
  #drip: NodeJS.Timeout | undefined;

  constructor(client: Socket, server: Socket, { latencyMs, heldUpMs }: WireDelays, events: WireEvents) {
    this.#client = client;
    this.#server = server;
    this.#up = new DelayLine(latencyMs);
    this.#down = new DelayLine(latencyMs);
    this.#connectedMs = performance.now() + 2 * latencyMs;
    this.#heldUpMs = heldUpMs;
    this.#events = events;
    for (const socket of [client, server]) socket.setNoDelay(true).on("error", () => undefined);
    client.on("data", (chunk) => this.#fromClient(chunk));
    client.on("close", () => this.#release());
    server.on("data", (chunk) => {
      events.passed?.("down", chunk.length);
      this.#down.carry(() => this.#toClient(chunk), this.#heldUpMs());
    });
    // What the server sent before it closed is still on its way.
    server.on("close", () => this.#down.carry(() => this.#client.end()));
  }

  /** Both ends see a reset. */
  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  #fromClient(chunk: Buffer): void {
    this.#events.passed?.("up", chunk.length);
    this.#opaque ??= chunk[0] === TLS_HANDSHAKE;
    if (this.#opaque) this.#toServer(chunk);
    else for (const request of this.#reader.read(chunk)) this.#pass(request);
  }

  #pass(request: PassedRequest): void {
    this.#fault = this.#events.arrived(request);
    this.#answered = 0;
    if (this.#fault?.kind === "reset-before") this.reset();
    else if (this.#fault?.kind !== "black-hole") this.#toServer(request.bytes);
  }

  #toServer(bytes: Buffer): void {
    const connectingMs = Math.max(0, this.#connectedMs - performance.now());
    this.#up.carry(() => this.#server.write(bytes), connectingMs + this.#heldUpMs());
  }

  #toClient(chunk: Buffer): void {
    const fault = this.#fault;
    if (!fault) {
      this.#client.write(chunk);
      return;
    }
    if (fault.kind === "reset-after") {
      this.reset();
      return;
    }
    const passed = Math.max(0, (fault.bytes ?? 0) - this.#answered);
    this.#answered += chunk.length;
    if (passed > 0) this.#client.write(chunk.subarray(0, passed));
    if (chunk.length < passed) return;
    if (fault.kind === "truncate") this.#client.end();
    else if (fault.kind === "reset-within") this.reset();
    else if (fault.dripMs !== undefined) this.#dripOut(chunk.subarray(passed), fault.dripMs);
  }

  #dripOut(bytes: Buffer, everyMs: number): void {
    let next = 0;
    this.#drip ??= setInterval(() => {
      if (next < bytes.length) this.#client.write(bytes.subarray(next, next + 1));
      next += 1;
    }, everyMs);
  }

  #release(): void {
    this.#up.close();
    this.#down.close();
    clearInterval(this.#drip);
    this.#server.destroy();
    this.#events.gone();
  }
}
