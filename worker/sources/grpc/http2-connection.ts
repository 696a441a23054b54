import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import type { Dialer } from "./dial.ts";

const MESSAGE = "grpc-message";
const DETAILS = "grpc-status-details-bin";

/**
 * Repairs a gRPC status that Connect cannot decode, so that its code is kept: removes malformed details, and keeps a message
 * with malformed percent-encoding as it was sent (gRPC over HTTP/2, Responses).
 */
export function repairStatus(fields: IncomingHttpHeaders): void {
  if (isReadable(fields)) return;
  delete fields[DETAILS];
  if (isReadable(fields)) return;
  fields[MESSAGE] = encodeURIComponent(String(fields[MESSAGE]));
}

function isReadable(fields: IncomingHttpHeaders): boolean {
  try {
    const headers = new Headers();
    for (const name of ["grpc-status", MESSAGE, DETAILS]) {
      const value = fields[name];
      if (value !== undefined) headers.set(name, String(value));
    }
    findTrailerError(headers);
    return true;
  } catch {
    return false;
  }
}

export interface KeepAlive {
  /** How long a connection with open calls may be silent before it is probed with a PING. */
  readonly pingIntervalMs: number;
  /** How long the PING may go unanswered before the connection is closed. */
  readonly pingTimeoutMs: number;
}

/** Time from the first byte to the server's settings, including connecting. */
const SETTINGS_TIMEOUT_MS = 20_000;

/** One HTTP/2 connection. It can be used from the moment `openConnection` resolves until it is `retired`. */
export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #keepAlive: KeepAlive;
  readonly #probe: NodeJS.Timeout;
  readonly #streams = new Set<ClientHttp2Stream>();
  #retired = false;

  constructor(session: ClientHttp2Session, socket: Socket, keepAlive: KeepAlive) {
    this.#session = session;
    this.#socket = socket;
    this.#keepAlive = keepAlive;
    this.#probe = setTimeout(() => this.#ping(), keepAlive.pingIntervalMs);
    session.on("goaway", (_, lastStreamId) => this.#retire(lastStreamId));
    socket.once("close", () => clearTimeout(this.#probe));
  }

  /** True when no call may begin on this connection: the server sent GOAWAY, or the connection is closed. */
  get retired(): boolean {
    return this.#retired || this.#session.closed || this.#session.destroyed;
  }

  /** True when the session is destroyed. */
  get ended(): boolean {
    return this.#session.destroyed;
  }

  /** How many more calls the server allows on this connection. */
  get room(): number {
    const most = this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
    return most - this.#streams.size;
  }

  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.#session.request(headers);
    if (this.#streams.size === 0) this.heard();
    this.#streams.add(stream);
    // These listeners come first: they change the fields that all others read.
    stream.on("response", repairStatus);
    stream.on("trailers", repairStatus);
    let answered = false;
    stream.once("response", () => {
      answered = true;
      this.heard();
    });
    stream.once("close", () => {
      this.#streams.delete(stream);
      this.#endWhenDone();
      if (answered && stream.readableEnded) return;
      // A stream that ends early without an error code would leave its call hanging. A code from the server takes precedence;
      // when the connection is lost, Node invents one.
      const fail = () => stream.emit("error", lost());
      if (this.retired) fail();
      else process.nextTick(fail);
    });
    return stream;
  }

  owns(stream: ClientHttp2Stream): boolean {
    return stream.session === this.#session;
  }

  /** Records that the server has sent something. */
  heard(): void {
    if (!this.retired) this.#probe.refresh();
  }

  /** Ends the connection and every call on it; resolves when the socket is closed. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#socket.closed) resolve();
      else this.#socket.once("close", () => resolve());
    });
    destroy(this.#session, this.#socket, closing());
    await closed;
  }

  /** Stops new calls. After a GOAWAY, the server ignores the calls that it had not seen (RFC 9113 section 6.8). */
  #retire(lastStreamId: number): void {
    this.#retired = true;
    for (const stream of this.#streams) {
      if (stream.id === undefined || stream.id > lastStreamId) stream.destroy(lost());
    }
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#retired && this.#streams.size === 0) destroy(this.#session, this.#socket);
  }

  #ping(): void {
    if (this.#session.destroyed) return;
    if (this.#streams.size === 0) {
      this.#probe.refresh();
      return;
    }
    const giveUp = setTimeout(() => {
      destroy(this.#session, this.#socket, new ConnectError("the server does not answer", Code.Unavailable));
    }, this.#keepAlive.pingTimeoutMs);
    // Called with an error when the session ends first.
    this.#session.ping((error) => {
      clearTimeout(giveUp);
      if (error === null) this.#probe.refresh();
    });
  }
}

/**
 * Opens a connection and waits for the server's settings. They are the first frame of an HTTP/2 server (RFC 9113 section
 * 3.4) and limit the calls. Rejects with the reason if they do not arrive.
 */
export async function openConnection(
  dialer: Dialer,
  keepAlive: KeepAlive,
  signal: AbortSignal,
): Promise<Http2Connection> {
  if (signal.aborted) throw closing();
  const socket = await dialer.dial(signal);
  const session = connect(dialer.url, { createConnection: () => socket });
  let failure: Error | undefined;
  const onFailure = (error: Error) => {
    failure ??= error;
    destroy(session, socket);
  };
  // This listener is never removed: an error without a listener ends the process, and a TLS alert leaves the socket open.
  session.on("error", onFailure);
  socket.on("error", onFailure);
  const onAbort = () => destroy(session, socket, closing());
  signal.addEventListener("abort", onAbort, { once: true });
  const silence = setTimeout(() => {
    destroy(session, socket, new ConnectError("the server does not speak HTTP/2", Code.Unavailable));
  }, SETTINGS_TIMEOUT_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      session.once("remoteSettings", () => resolve());
      socket.once("close", () => reject(failure ?? lost()));
    });
    return new Http2Connection(session, socket, keepAlive);
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Destroys the session and its socket, because a closing session waits for the server to close as well. */
function destroy(session: ClientHttp2Session, socket: Socket, reason?: Error): void {
  session.destroy(reason);
  socket.destroy(reason);
}

function closing(): ConnectError {
  return new ConnectError("the transport is closed", Code.Canceled);
}

function lost(): ConnectError {
  return new ConnectError("the connection was closed", Code.Unavailable);
}
