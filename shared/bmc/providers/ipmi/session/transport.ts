import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { zoneProblem } from "../../../../ip-address.ts";
import { errorCode, networkReason } from "../../../../network-reason.ts";
import { textOf } from "../../../../text-of.ts";
import { withTimeout } from "../../../../timeout.ts";

export interface DatagramReceiver {
  datagram(datagram: Buffer): void;
  failed(error: BmcError): void;
}

/** A UDP socket for one BMC. The owner closes it. */
export class UdpTransport {
  readonly #socket: Socket;
  readonly #address: string;
  readonly #receivers = new Set<DatagramReceiver>();
  readonly #sending = new Set<Promise<void>>();
  #closed = false;

  private constructor(socket: Socket, address: string, onReached?: () => void) {
    this.#socket = socket;
    this.#address = address;
    socket.once("message", () => onReached?.());
    socket.on("message", (datagram) => {
      for (const receiver of [...this.#receivers]) {
        try {
          receiver.datagram(datagram);
        } catch (thrown) {
          receiver.failed(BmcError.from(thrown));
        }
      }
    });
    socket.on("error", (error) => this.#fail(error));
  }

  /**
   * Resolves the name and connects the socket, without sending anything. Throws `unreachable`. `onReached` is called when
   * the BMC's first packet arrives.
   */
  static async open(
    host: string,
    port: number,
    timeoutMs: number,
    signal: AbortSignal,
    onReached?: () => void,
  ): Promise<UdpTransport> {
    try {
      const wrongZone = zoneProblem(host);
      if (wrongZone) throw wrongZone;
      // Some of several addresses may be in networks that this host lacks, such as IPv6. The first one with a route is used.
      const addresses = await withTimeout(timeoutMs, signal, () => lookup(host, { all: true }));
      const failures: unknown[] = [];
      for (const { address, family } of addresses) {
        const socket = createSocket(family === 6 ? "udp6" : "udp4");
        try {
          await withTimeout(timeoutMs, signal, () => connected(socket, port, address));
          return new UdpTransport(socket, `${host} port ${port}`, onReached);
        } catch (error) {
          socket.close();
          signal.throwIfAborted();
          failures.push(error);
        }
      }
      throw failures[0] ?? new Error("the host name has no address");
    } catch (error) {
      signal.throwIfAborted();
      throw new BmcError("unreachable", `cannot reach ${host} port ${port} (UDP): ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Sends a packet. Never throws: failures are reported to the receivers, and a silent BMC by their timeouts. */
  send(packet: Uint8Array): void {
    if (this.#closed) return;
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    this.#sending.add(sent);
    const settle = (error: unknown) => {
      this.#sending.delete(sent);
      resolve();
      if (error) this.#fail(error);
    };
    try {
      this.#socket.send(packet, settle);
    } catch (thrown) {
      // Timers send as well, and an exception in one ends the process.
      settle(thrown);
    }
  }

  subscribe(receiver: DatagramReceiver): () => void {
    this.#receivers.add(receiver);
    return () => this.#receivers.delete(receiver);
  }

  /** Waits for the first datagram that `match` accepts. Call `stop` when it is no longer needed. */
  first<T>(match: (datagram: Buffer) => T | undefined): { answer: Promise<T>; stop: () => void } {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // The promise may reject after the last waiter has left.
    promise.catch(() => undefined);
    const stop = this.subscribe({
      datagram(datagram) {
        const matched = match(datagram);
        if (matched !== undefined) resolve(matched);
      },
      failed: reject,
    });
    return { answer: promise, stop };
  }

  /** Waits until the packets are sent, then closes the socket. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all(this.#sending);
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
    this.#tell(new BmcError("cancelled", "the session was closed"));
  }

  #fail(cause: unknown): void {
    // ECONNREFUSED is an ICMP "port unreachable": the host is present, but the service is not.
    this.#tell(
      new BmcError("unreachable", `cannot reach ${this.#address} (UDP): ${reasonOf(cause)}`, { cause }),
    );
  }

  #tell(error: BmcError): void {
    for (const receiver of [...this.#receivers]) receiver.failed(error);
  }
}

function connected(socket: Socket, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    // The callback also gets errors. The socket then has no peer, and every `send` throws.
    socket.connect(port, address, (error?: Error | null) => {
      socket.off("error", reject);
      if (error) reject(error);
      else resolve();
    });
  });
}

function reasonOf(error: unknown): string {
  if (errorCode(error) === "ECONNREFUSED") return "connection refused, no IPMI service answers there";
  return networkReason(error) ?? textOf(error);
}
