import type { Http2Session, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { AcceptedCertificate } from "./api-access.ts";
import type { ListenerLimits } from "./limits.ts";

type Timeouts = Pick<ListenerLimits, "headersTimeoutMs" | "keepAliveMs" | "idleMs">;
type ConnectionLimits = Timeouts & Pick<ListenerLimits, "connections" | "accepted" | "strangers">;

/** One client's connection. It closes if it has no call for too long. */
export class Connection {
  readonly #socket: Socket;
  readonly #timeouts: Timeouts;
  #session: ServerHttp2Session | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #calls = 0;
  #streamingCalls = 0;
  /** Made an accepted call. */
  isTrusted = false;
  /** A carrier has it. */
  isCarried = false;
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

  /** From now on it is HTTP/2. */
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
    // Node's own server closes an idle HTTP/1.1 connection; this also closes one whose next headers are slow.
    const { keepAliveMs, headersTimeoutMs, idleMs } = this.#timeouts;
    this.#closeIn(this.#session ? idleMs : keepAliveMs + headersTimeoutMs);
  }

  destroy(): void {
    clearTimeout(this.#deadline);
    this.#socket.destroy();
  }

  /** Tells the client to make new calls elsewhere, and ends after those in progress. */
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

/** Both ends of a connection: unique among open connections. */
type Ends = Pick<Socket, "localAddress" | "localPort" | "remoteAddress" | "remotePort">;

/** What requests of one connection share: the socket of HTTP/1.1, with TLS that of TLS, or the session of HTTP/2. */
type Carrier = Socket | Http2Session;

/** All open connections, bounded in number. */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** In order of arrival. */
  readonly #open = new Map<string, Connection>();
  /** Who calls is decided by this alone: addresses and ports are used again. */
  readonly #carried = new WeakMap<Carrier, Connection>();
  readonly #whenIdle = new Set<() => void>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  admit(socket: Socket): Connection {
    const connection = new Connection(socket, this.#limits);
    const key = keyOf(socket);
    this.#open.set(key, connection);
    socket.once("close", () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
    if (this.#open.size > this.#limits.connections) this.#leastUseful(connection)?.destroy();
    return connection;
  }

  /** The connection on which TLS was established; undefined if it has ended. */
  secured(socket: Ends): Connection | undefined {
    const connection = this.#open.get(keyOf(socket));
    return connection?.isCarried ? undefined : connection;
  }

  /** From now on requests of this carrier belong to the connection. A connection has one carrier. */
  carry(carrier: Carrier, connection: Connection): void {
    connection.isCarried = true;
    this.#carried.set(carrier, connection);
  }

  of(carrier: Carrier | undefined): Connection | undefined {
    return carrier && this.#carried.get(carrier);
  }

  /** Whether one more call is within the limits of its connection, and of all that are equally trusted. */
  hasRoom({ isTrusted, calls, streamingCalls }: Connection, isStreaming: boolean): boolean {
    const limits = isTrusted ? this.#limits.accepted : this.#limits.strangers;
    const alike = [...this.#open.values()].filter((each) => each.isTrusted === isTrusted);
    const all = (count: (each: Connection) => number) => alike.reduce((sum, each) => sum + count(each), 0);
    if (calls >= limits.calls || all((each) => each.calls) >= limits.callsOfAll) return false;
    if (!isStreaming) return true;
    return streamingCalls < limits.streaming && all((each) => each.streamingCalls) < limits.streamingOfAll;
  }

  destroyAll(): void {
    for (const connection of this.#open.values()) connection.destroy();
  }

  /** Resolves when no call is in progress. */
  async drain(): Promise<void> {
    for (const connection of this.#open.values()) connection.drain();
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#whenIdle.add(resolve));
  }

  callEnded(connection: Connection, isStreaming: boolean): void {
    connection.endCall(isStreaming);
    if (this.#isIdle) for (const resolve of this.#whenIdle) resolve();
  }

  get #isIdle(): boolean {
    return [...this.#open.values()].every(({ calls }) => calls === 0);
  }

  /** The oldest one without an accepted call, else the oldest idle one, else the oldest. */
  #leastUseful(newest: Connection): Connection | undefined {
    const others = [...this.#open.values()].filter((connection) => connection !== newest);
    return (
      others.find(({ isTrusted }) => !isTrusted) ?? others.find(({ calls }) => calls === 0) ?? others.at(0)
    );
  }
}

function keyOf({ localAddress, localPort, remoteAddress, remotePort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
