import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, Http2Session, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { AcceptedCertificate } from "./api-access.ts";
import type { ListenerLimits } from "./limits.ts";

type Timeouts = Pick<ListenerLimits, "headersTimeoutMs" | "keepAliveMs" | "idleMs">;
type ConnectionLimits = Timeouts & Pick<ListenerLimits, "accepted" | "strangers">;

/** One client's connection. It closes if it has no call for too long. */
export class Connection {
  readonly #socket: Socket;
  readonly #timeouts: Timeouts;
  #session: ServerHttp2Session | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #calls = 0;
  #streamingCalls = 0;
  /** Whether an accepted call was made on the connection. */
  isTrusted = false;
  certificate: AcceptedCertificate | undefined;
  /** The client's address. */
  readonly client: string | undefined;

  constructor(socket: Socket, timeouts: Timeouts) {
    this.#socket = socket;
    this.#timeouts = timeouts;
    this.client = socket.remoteAddress;
    this.#closeIn(timeouts.headersTimeoutMs);
    socket.once("close", () => clearTimeout(this.#deadline));
  }

  get calls(): number {
    return this.#calls;
  }

  /** Records that the connection has become HTTP/2. */
  useSession(session: ServerHttp2Session): void {
    this.#session = session;
    this.#closeIn(this.#timeouts.idleMs);
  }

  get streamingCalls(): number {
    return this.#streamingCalls;
  }

  beginCall(isStreaming: boolean): void {
    this.#calls += 1;
    if (isStreaming) this.#streamingCalls += 1;
    clearTimeout(this.#deadline);
  }

  endCall(isStreaming: boolean): void {
    this.#calls -= 1;
    if (isStreaming) this.#streamingCalls -= 1;
    if (this.#calls > 0 || this.#socket.destroyed) return;
    // Node's own server closes an idle HTTP/1.1 connection. This also closes one whose next headers arrive slowly.
    const { keepAliveMs, headersTimeoutMs, idleMs } = this.#timeouts;
    this.#closeIn(this.#session ? idleMs : keepAliveMs + headersTimeoutMs);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Tells the client to make new calls elsewhere. The connection ends after the calls in progress. */
  drain(): void {
    if (this.#session) this.#session.close();
    else if (this.#calls === 0) this.destroy();
  }

  #closeIn(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#expire(), ms);
    this.#deadline.unref();
  }

  #expire(): void {
    if (!this.#session || this.#session.closed) {
      this.destroy();
      return;
    }
    this.#session.close();
    this.#closeIn(this.#timeouts.keepAliveMs);
  }
}

/**
 * Only this property identifies the connection of a call, because addresses and ports are reused. It is on the socket of
 * HTTP/1.1, on the TLS socket, or on the session of HTTP/2.
 */
const CONNECTION = Symbol("connection");
interface Carrier {
  [CONNECTION]?: Connection;
}

/** All open connections. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Connection>();
  /** Connections by both of their ends, which are unique among open connections. */
  readonly #handshaking = new Map<string, Connection>();
  readonly #whenIdle = new Set<() => void>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Adds a connection, which may still need a TLS handshake. */
  admit(socket: Socket & Carrier, needsHandshake: boolean): void {
    const connection = new Connection(socket, this.#limits);
    const ends = endsOf(socket);
    socket[CONNECTION] = connection;
    this.#open.add(connection);
    if (needsHandshake) this.#handshaking.set(ends, connection);
    socket.once("close", () => {
      this.#open.delete(connection);
      if (this.#handshaking.get(ends) === connection) this.#handshaking.delete(ends);
    });
  }

  /** Call this when TLS is established on a connection. */
  secured(socket: TLSSocket & Carrier): void {
    socket.on("error", () => undefined);
    const ends = endsOf(socket);
    const connection = this.#handshaking.get(ends);
    this.#handshaking.delete(ends);
    if (!connection) {
      socket.destroy();
      return;
    }
    connection.certificate = acceptedCertificate(socket);
    socket[CONNECTION] = connection;
  }

  /** Call this when a connection becomes HTTP/2. */
  useSession(session: ServerHttp2Session & Carrier): void {
    // Node's proxy for the socket of a session has the properties of the socket.
    const { [CONNECTION]: connection }: Socket & Carrier = session.socket;
    if (!connection) return;
    session[CONNECTION] = connection;
    connection.useSession(session);
  }

  of(request: IncomingMessage | Http2ServerRequest): Connection | undefined {
    const carrier: (Http2Session & Carrier) | (Socket & Carrier) | undefined =
      "stream" in request ? request.stream.session : request.socket;
    return carrier?.[CONNECTION];
  }

  /** Whether one more call is within the limits of its connection, and of all connections with the same trust. */
  hasRoom({ isTrusted, calls, streamingCalls }: Connection, isStreaming: boolean): boolean {
    // A client's first call proves its identity. Slow calls of strangers must not keep it out.
    if (calls === 0 && !isStreaming) return true;
    const limits = isTrusted ? this.#limits.accepted : this.#limits.strangers;
    const alike = [...this.#open].filter((each) => each.isTrusted === isTrusted);
    const all = (count: (each: Connection) => number) => alike.reduce((sum, each) => sum + count(each), 0);
    if (calls >= limits.calls || all((each) => each.calls) >= limits.callsOfAll) return false;
    if (!isStreaming) return true;
    return streamingCalls < limits.streaming && all((each) => each.streamingCalls) < limits.streamingOfAll;
  }

  /** Resolves when no call is in progress. */
  async drain(): Promise<void> {
    for (const connection of this.#open) connection.drain();
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#whenIdle.add(resolve));
  }

  callEnded(connection: Connection, isStreaming: boolean): void {
    connection.endCall(isStreaming);
    if (this.#isIdle) for (const resolve of this.#whenIdle) resolve();
  }

  get #isIdle(): boolean {
    return [...this.#open].every(({ calls }) => calls === 0);
  }
}

/** The connection to close: the oldest one without an accepted call, otherwise the oldest idle one, otherwise the oldest. */
export function leastUseful(sockets: readonly (Socket & Carrier)[]): Socket | undefined {
  return (
    sockets.find(({ [CONNECTION]: connection }) => !connection?.isTrusted) ??
    sockets.find(({ [CONNECTION]: connection }) => connection?.calls === 0) ??
    sockets.at(0)
  );
}

function acceptedCertificate(socket: TLSSocket): AcceptedCertificate | undefined {
  if (!socket.authorized) return undefined;
  const commonName: unknown = socket.getPeerCertificate().subject?.CN;
  return typeof commonName === "string" ? { commonName } : {};
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
