import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import type { Dialer, ServerOptions } from "./dial.ts";
import { type Http2Connection, type KeepAlive, openConnection } from "./http2-connection.ts";

type SessionManager = NonNullable<GrpcTransportOptions["sessionManager"]>;

export type ChannelOptions = ServerOptions & Partial<KeepAlive>;

/**
 * gRPC servers in Go disconnect a client that pings three times without an answer to a call in between
 * (`too_many_pings`, gRPC proposal A8). A poll is answered after at most 60 s, so two pings fit.
 */
const PING_INTERVAL_MS = 30_000;
const PING_TIMEOUT_MS = 15_000;
/** Far more than any limit on calls requires: a server that allows one call per connection is broken. */
const MOST_CONNECTIONS = 64;

/**
 * The HTTP/2 connection that all calls share: opened with the first call, and again after it broke. A second connection is
 * opened only if the server, or a proxy before it, limits the calls per connection: held polls would delay the reports.
 * Connect's session manager, which saves no memory (6.2 KiB per held call, 6.5 KiB here), has one connection and no proxy.
 */
export class Channel implements SessionManager {
  readonly authority: string;
  readonly #dialer: Dialer;
  readonly #keepAlive: KeepAlive;
  readonly #closing = new AbortController();
  /** Connections in use, or ending their last calls. */
  #connections: readonly Http2Connection[] = [];
  #opening: Promise<Http2Connection> | undefined;

  constructor(
    dialer: Dialer,
    { pingIntervalMs = PING_INTERVAL_MS, pingTimeoutMs = PING_TIMEOUT_MS }: Partial<KeepAlive> = {},
  ) {
    this.#dialer = dialer;
    this.authority = dialer.url;
    this.#keepAlive = { pingIntervalMs, pingTimeoutMs };
  }

  /** Whether the next call goes to the same server as the last one. A server is not replaced on an open connection. */
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

  /** Ends every connection and call. Resolves when the sockets are closed. Later calls fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#opening?.catch(() => undefined);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #withRoom(): Http2Connection | undefined {
    return this.#connections.find((connection) => !connection.retired && connection.room > 0);
  }

  #open(): Promise<Http2Connection> {
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
