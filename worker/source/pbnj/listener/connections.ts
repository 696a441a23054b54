import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { AcceptedCertificate } from "./api-access.ts";
import type { ListenerLimits } from "./limits.ts";

type Timeouts = Pick<ListenerLimits, "headersTimeoutMs" | "keepAliveMs" | "idleMs">;

/** One client's connection. It closes if it has no call for too long. */
export class Connection {
  readonly #socket: Socket;
  readonly #timeouts: Timeouts;
  #session: ServerHttp2Session | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #calls = 0;
  /** Made an accepted call. */
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

  /** From now on it is HTTP/2. */
  useSession(session: ServerHttp2Session): void {
    this.#session = session;
    this.#closeIn(this.#timeouts.idleMs);
  }

  beginCall(): void {
    this.#calls += 1;
    clearTimeout(this.#deadline);
  }

  endCall(): void {
    this.#calls -= 1;
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

/** Where a client calls from: unique among open connections. */
type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/** All open connections, bounded in number. */
export class Connections {
  readonly #limits: Timeouts & Pick<ListenerLimits, "connections">;
  /** In order of arrival. */
  readonly #open = new Map<string, Connection>();
  readonly #whenIdle = new Set<() => void>();

  constructor(limits: Timeouts & Pick<ListenerLimits, "connections">) {
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

  /** Also finds the connection of a TLS or HTTP/2 socket, by its peer. */
  of(socket: Peer): Connection | undefined {
    return this.#open.get(keyOf(socket));
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

  callEnded(connection: Connection): void {
    connection.endCall();
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

function keyOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
