import { Agent, type IncomingMessage, request as startRequest } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline, Readable } from "node:stream";
import { TLSSocket } from "node:tls";
import { BmcError } from "../../contract/bmc-error.ts";
import { MOST_INFORMATIONAL_ANSWERS } from "../../input-limits.ts";
import { raceAbort } from "../../race-abort.ts";
import { TimeoutReached } from "../../timeout.ts";
import { type SpanStart, type Tracer, untraced } from "../../tracing/tracer.ts";
import { tlsFactsOf, type WireTap } from "../../tracing/wire-tap.ts";
import { exchangeError, isMalformed } from "./connection-error.ts";
import { authority, type Endpoint } from "./endpoint.ts";
import { openSocket } from "./tls.ts";
import { TlsSessions } from "./tls-sessions.ts";

type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Headers;
  /** Further headers, created for each attempt, because a digest is valid for only one request (RFC 7616 section 3.4). */
  readonly authorize?: () => Headers;
  /** The body. A stream or form is sent only once, while it is read. */
  readonly body?: string | Readable;
  /** What the request does, for messages. Never a secret. */
  readonly doing: string;
  /** Whether a lost answer leaves open if something was changed. */
  readonly isWrite: boolean;
  /** Overrides the connection's own limit. */
  readonly maxBodyBytes?: number;
  /** Overrides the connection's own timeout. */
  readonly requestTimeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Headers with names in lower case. Values of a repeated header are joined with commas. */
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface HttpConnectionOptions extends Endpoint {
  /** Time from sending the request to the last byte of its answer. */
  readonly requestTimeoutMs: number;
  readonly maxBodyBytes: number;
  /** False opens a new connection for each request, for peers that close it after an answer without notice. */
  readonly keepAlive?: boolean;
  readonly tracer?: Tracer;
  /** Called with every exchange, for a recording. */
  readonly tap?: WireTap;
}

/** Longer than the longest pause between two polls, so that polling reuses its connection. */
const KEEP_ALIVE_MS = 30_000;
/** A connection that ends this soon after an answer was not idle: the peer closes it after each answer. */
const CLOSED_AT_ONCE_MS = 1_000;
/** One such end may be a restart; this many show that the peer always does it. */
const CLOSES_BEFORE_LEARNED = 2;

/** A read was lost on a reused connection before any byte of its answer arrived. It may be sent again. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

/** TLS sessions that all connections of this process share: an action resumes the session of an earlier one. */
const tlsSessions = new TlsSessions();

type OnSocket = (error: Error | null, socket?: Socket) => void;

/** An agent that gets its connections, with and without TLS, from `connect`. */
class ConnectingAgent extends Agent {
  readonly #connect: (onSocket: OnSocket) => void;

  constructor(connect: (onSocket: OnSocket) => void) {
    super({ keepAlive: true, timeout: KEEP_ALIVE_MS });
    this.#connect = connect;
  }

  override createConnection(_: object, callback: (error: Error | null, socket: Duplex) => void): undefined {
    // With an error, Node passes no socket, although its types require one.
    this.#connect(callback as OnSocket);
  }
}

/**
 * Sends HTTP/1.1 requests to one peer over one kept-alive connection, one at a time. Bodies are bytes, and redirects are not
 * followed. Failures are `BmcError`s; an abort rejects with the signal's reason. The caller handles statuses.  It uses
 * Node's own client, because the parser of undici is WebAssembly, which the process of each action would have to compile.
 */
export class HttpConnection {
  readonly #options: HttpConnectionOptions;
  readonly #agent = new ConnectingAgent((onSocket) => this.#connect(onSocket));
  readonly #url: URL;
  /** Settles when all requests so far have ended. */
  #turn: Promise<unknown> = Promise.resolve();
  #connecting: Socket | undefined;
  #closed = false;
  #certificateExpiresMs: number | undefined;
  #keepAlive: boolean;
  #roundTrips = 0;
  #connections = 0;
  /** The number of answers on the present connection, and when the last one ended successfully. */
  #answers = 0;
  #answeredAtMs: number | undefined;
  #sudden = 0;

  constructor(options: HttpConnectionOptions) {
    this.#options = options;
    this.#keepAlive = options.keepAlive ?? true;
    this.#url = new URL(`${options.scheme}://${authority(options)}`);
  }

  get roundTrips(): number {
    return this.#roundTrips;
  }

  /** When the latest certificate expires, in milliseconds since the epoch; undefined without TLS. */
  get certificateExpiresMs(): number | undefined {
    return this.#certificateExpiresMs;
  }

  /** False once the peer has repeatedly closed its connection after an answer. */
  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  /** Sends a request. A read that met the end of an old connection is sent once more on a new one (RFC 9112 section 9.3.1). */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    try {
      return await this.#sendTraced(request, signal);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return await this.#sendTraced(request, signal);
    }
  }

  #sendTraced(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { host, port, tracer = untraced } = this.#options;
    const headers = { ...request.headers, ...request.authorize?.() };
    return tracer.span(spanOf(request, host, port), async (span) => {
      const answer = await this.#sendTapped({ ...request, headers }, signal);
      const { status } = answer;
      span.note({
        "http.response.status_code": status,
        "error.type": status < 400 ? undefined : String(status),
      });
      return answer;
    });
  }

  async #sendTapped(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { tap } = this.#options;
    if (!tap) return await this.#sendInTurn(request, signal);
    const startedMs = performance.now();
    const { method, path, headers, body } = request;
    const { origin } = this.#url;
    const text = typeof body === "string" ? body : undefined;
    const sent = { origin, method, path, headers, body: text, startedMs };
    const timed = () => ({ ...sent, endedMs: performance.now(), connection: this.#connections });
    try {
      const answer = await this.#sendInTurn(request, signal);
      tap.http({ ...timed(), answer });
      return answer;
    } catch (thrown) {
      tap.http({ ...timed(), error: thrown });
      throw thrown;
    }
  }

  #noteSuddenClose(): void {
    this.#sudden++;
    if (this.#sudden >= CLOSES_BEFORE_LEARNED) this.#keepAlive = false;
  }

  #connect(onSocket: OnSocket): void {
    const resumed = tlsSessions.take(this.#options);
    const onOpen: Parameters<typeof openSocket>[1] = (error, socket, certificate) => {
      this.#connecting = undefined;
      // A peer should ignore an unknown session. If it fails instead, retry with a full handshake.
      if (resumed && error?.class === "tls") return this.#connect(onSocket);
      this.#answers = 0;
      if (certificate) this.#certificateExpiresMs = certificate.validToDate.getTime();
      if (!socket) return onSocket(error ?? new Error("no socket"));
      this.#connections++;
      if (socket instanceof TLSSocket && certificate) {
        this.#options.tap?.connected(tlsFactsOf(socket, certificate));
        tlsSessions.keep(this.#options, socket, certificate, resumed);
      }
      socket.once("close", () => this.#noteClose());
      onSocket(null, socket);
    };
    this.#connecting = openSocket(this.#options, onOpen, resumed);
  }

  #noteClose(): void {
    const atMs = this.#answeredAtMs;
    if (this.#keepAlive && atMs !== undefined && performance.now() - atMs < CLOSED_AT_ONCE_MS) {
      this.#noteSuddenClose();
    }
  }

  async #sendInTurn(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const before = this.#turn;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#turn = ended;
    try {
      await raceAbort(before, signal);
      return await this.#sendOnce(request, signal);
    } finally {
      // A request that was aborted in the queue ends when the earlier ones have.
      const free = () => end();
      before.then(free, free);
    }
  }

  #sendOnce(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const { doing, isWrite, body } = request;
    if (this.#closed) throw new BmcError("unreachable", `${doing}: the connection is closed`);
    const requestTimeoutMs = request.requestTimeoutMs ?? this.#options.requestTimeoutMs;
    const maxBodyBytes = request.maxBodyBytes ?? this.#options.maxBodyBytes;
    return new Promise((resolve, reject) => {
      let sent = false;
      let timer: NodeJS.Timeout | undefined;
      let answer: IncomingMessage | undefined;
      const chunks: Buffer[] = [];
      let received = 0;
      let informational = 0;
      let over = false;

      const outgoing = startRequest({
        agent: this.#agent,
        method: request.method,
        path: request.path,
        headers: {
          // The default port of the scheme is left out.
          host: this.#url.host,
          ...request.headers,
          ...(this.#keepAlive ? {} : { connection: "close" }),
        },
      });
      const finish = () => {
        over = true;
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      const fail = (reason: unknown) => {
        finish();
        reject(reason);
        // The rest of the answer is not needed, and neither is its connection.
        outgoing.destroy();
        if (!sent) this.#connecting?.destroy();
      };
      const onAbort = () => fail(signal.reason);
      const onTimeout = () => {
        const message = `${doing}: no answer within ${requestTimeoutMs} ms`;
        const cause = new TimeoutReached(requestTimeoutMs);
        fail(new BmcError("timeout", message, { cause, uncertain: isWrite }));
      };
      const onError = (error: Error) => {
        if (over) return;
        const isStale = sent && this.#answers > 0 && answer === undefined && this.#keepAlive;
        if (isStale && !(error instanceof BmcError)) {
          this.#noteSuddenClose();
          this.#answers = 0;
          if (!isWrite && !signal.aborted && !isMalformed(error)) return fail(new StaleConnection(doing));
        }
        const progress = { uncertain: isWrite && sent, answered: answer !== undefined };
        fail(error instanceof BmcError ? error : exchangeError(error, doing, progress));
      };
      signal.addEventListener("abort", onAbort, { once: true });

      outgoing.on("error", onError);
      outgoing.once("socket", () => {
        sent = true;
        this.#roundTrips++;
        this.#answeredAtMs = undefined;
        timer = setTimeout(onTimeout, requestTimeoutMs);
      });
      outgoing.on("information", () => {
        informational += 1;
        if (informational <= MOST_INFORMATIONAL_ANSWERS) return;
        const message = `${doing} answered more than ${MOST_INFORMATIONAL_ANSWERS} times that it is still working on it`;
        fail(new BmcError("protocol", message, { uncertain: isWrite }));
      });
      outgoing.once("response", (incoming) => {
        answer = incoming;
        incoming.on("error", onError);
        incoming.on("data", (chunk: Buffer) => {
          received += chunk.length;
          if (received <= maxBodyBytes) chunks.push(chunk);
          else {
            const message = `${doing} answered more than ${maxBodyBytes} bytes`;
            fail(new BmcError("protocol", message, { uncertain: isWrite }));
          }
        });
        incoming.once("end", () => {
          if (over) return;
          finish();
          // The peer no longer waits for the rest of the body, so it is not sent.
          const isCutShort = body instanceof Readable && !outgoing.writableFinished;
          if (isCutShort) outgoing.destroy();
          const headers = joined(incoming.headersDistinct);
          this.#answers++;
          const isLast = isCutShort || !this.#keepAlive || /\bclose\b/i.test(headers["connection"] ?? "");
          this.#answeredAtMs = isLast ? undefined : performance.now();
          resolve({ status: incoming.statusCode ?? 0, headers, body: Buffer.concat(chunks) });
        });
      });
      if (body instanceof Readable) pipeline(body, outgoing, (error) => error && onError(error));
      else outgoing.end(body);
    });
  }

  /** Closes the connection immediately. Requests in flight fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#answeredAtMs = undefined;
    this.#connecting?.destroy();
    this.#agent.destroy();
  }
}

/** Below these paths, a session's ID grants access to a BMC, and an account's ID may be a user name. */
const PRIVATE_MEMBERS = /(\/(?:Sessions|Accounts)\/)[^/?#]+/gi;

/**
 * The span of a request, by OpenTelemetry's conventions for HTTP clients. It uses `doing` instead of the URL, which may
 * contain a webhook's secret.
 */
function spanOf({ method, doing }: HttpRequest, host: string, port: number): SpanStart {
  const name = doing.replace(/[?#].*/s, "").replace(PRIVATE_MEMBERS, "$1{id}");
  const [, path] = /^[A-Z]+ (\/\S*)$/.exec(name) ?? [];
  const peer = { "server.address": host, "server.port": port };
  return { name, kind: "client", attributes: { "http.request.method": method, "url.path": path, ...peer } };
}

function joined(distinct: NodeJS.Dict<string[]>): Headers {
  return Object.fromEntries(Object.entries(distinct).map(([name, values = []]) => [name, values.join(", ")]));
}
