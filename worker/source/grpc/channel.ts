import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import { type Connection, type KeepAlive, openConnection } from "./http2-connection.ts";
import type { Dialer } from "./dial.ts";

type SessionManager = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** Far beyond what any limit on calls needs; a server that grants one call a connection is broken. */
const MOST_CONNECTIONS = 64;

/**
 * The HTTP/2 connection that all calls share: opened with the first call and again after it broke. Only where
 * a server (or a proxy before it) limits the calls on a connection does another one join it; held polls would
 * otherwise keep the reports waiting.
 */
export class Channel implements SessionManager {
  readonly authority: string;
  readonly #dialer: Dialer;
  readonly #keepAlive: KeepAlive;
  readonly #closing = new AbortController();
  /** In use, or ending their last calls. */
  #connections: readonly Connection[] = [];
  #opening: Promise<Connection> | undefined;

  constructor(dialer: Dialer, keepAlive: KeepAlive) {
    this.authority = dialer.url;
    this.#dialer = dialer;
    this.#keepAlive = keepAlive;
  }

  /** Whether the next call goes to the server that answered before: a server is not replaced on an open connection. */
  get connected(): boolean {
    return this.#connections.some(({ retired }) => !retired);
  }

  async request(method: string, path: string, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    let connection = this.#withRoom();
    while (connection === undefined) {
      const opened = await this.#open();
      if (opened.room < 1 && this.#connections.length >= MOST_CONNECTIONS) {
        throw new ConnectError("the server takes no more calls", Code.ResourceExhausted);
      }
      connection = this.#withRoom();
    }
    return connection.request({ ...headers, ":method": method, ":path": path });
  }

  notifyResponseByteRead(stream: ClientHttp2Stream): void {
    this.#connections.find((connection) => connection.owns(stream))?.heard();
  }

  /** Ends every connection and every call; resolves when the sockets are closed. Calls after it fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#opening?.catch(() => undefined);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #withRoom(): Connection | undefined {
    return this.#connections.find((connection) => !connection.retired && connection.room > 0);
  }

  #open(): Promise<Connection> {
    this.#opening ??= openConnection(this.#dialer, this.#keepAlive, this.#closing.signal)
      .then((connection) => {
        this.#connections = [...this.#connections.filter(({ ended }) => !ended), connection];
        return connection;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }
}
