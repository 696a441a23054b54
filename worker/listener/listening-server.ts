import { once } from "node:events";
import type { Server, Socket } from "node:net";
import { type TlsOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "../../shared/logger.ts";
import { addressText, type ListenAddress } from "./addresses.ts";
import { isLoopback } from "./loopback.ts";
import type { ServerTls } from "./server-tls.ts";

export interface ListeningServerOptions {
  /** A server of any protocol; with `tls.options`, created with `tlsOptions`. */
  readonly server: Server;
  readonly tls: ServerTls;
  /** Above this number of connections, the least useful one is closed. */
  readonly connections: number;
  /** Selects the connection to close from all but the newest one, in order of arrival. Default: the oldest. */
  readonly leastUseful?: (others: readonly Socket[]) => Socket | undefined;
  readonly log: Logger;
}

/** The sockets of a served address: limited in number, with TLS from its current files. */
export class ListeningServer {
  readonly #options: ListeningServerOptions;
  /** Sockets in order of arrival. */
  readonly #sockets = new Set<Socket>();
  #address: ListenAddress = { host: "", port: 0 };

  constructor(options: ListeningServerOptions) {
    this.#options = options;
    const { server, tls } = options;
    server.on("connection", (socket: Socket) => this.#admit(socket));
    let { authority } = tls;
    tls.onChange(() => {
      if (server instanceof TlsServer && tls.options) server.setSecureContext(tls.options);
      if (authority !== tls.authority) this.#destroyAll();
      authority = tls.authority;
    });
  }

  /** The address with the port in use. */
  get address(): ListenAddress {
    return this.#address;
  }

  get url(): string {
    return `${this.#options.tls.options ? "https" : "http"}://${addressText(this.#address)}`;
  }

  /** Whether the address can be reached only from this host. */
  get isLoopback(): boolean {
    return isLoopback(this.#address.host);
  }

  /** Listens on an address. Rejects with a system error, for example if the address is in use. */
  async listen({ host, port }: ListenAddress): Promise<void> {
    const { server, log } = this.#options;
    await once(server.listen({ host, port }), "listening");
    // An unhandled error, for example when no more files can be opened, would end the worker.
    server.on("error", (error) => log.warn({ error: error.message }, "connection not accepted"));
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new TypeError("no address of an internet socket");
    this.#address = { host: bound.address, port: bound.port };
  }

  /** Accepts no more connections, and closes open ones once `drained` has resolved. */
  async close(drained?: Promise<void>): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#options.server.close(() => resolve()));
    await drained;
    this.#destroyAll();
    await closed;
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #admit(socket: Socket): void {
    const { connections, leastUseful = ([oldest]) => oldest } = this.#options;
    // A connection that is reset is closed as well.
    socket.on("error", () => undefined);
    const others = [...this.#sockets];
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (others.length >= connections) leastUseful(others)?.destroy();
  }
}

/**
 * The TLS options of a server. Client certificates are checked per request: a client without one may have a token, and
 * probes need neither.
 */
export function tlsOptions(tls: ServerTls, handshakeTimeout: number): TlsOptions {
  return {
    ...tls.options,
    handshakeTimeout,
    requestCert: tls.asksForCertificates,
    rejectUnauthorized: false,
  };
}
