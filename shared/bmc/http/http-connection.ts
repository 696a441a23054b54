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
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  /** More headers, made anew each time that the request goes out: a digest is for one request (RFC 7616 section 3.4). */
  readonly authorize?: () => Headers;
  /** A stream or form is sent once, as it is read. */
  readonly body?: string | Readable;
  /** What is asked, for messages: never a secret. */
  readonly doing: string;
  /** Whether a lost answer leaves it open if something was changed. */
  readonly isWrite: boolean;
  /** In place of the connection's own bound. */
  readonly maxBodyBytes?: number;
  /** In place of the connection's own limit. */
  readonly requestTimeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; of a repeated one the values are joined with commas. */
  readonly headers: Headers;
  readonly body: Buffer;
}

export interface HttpConnectionOptions extends Endpoint {
  /** From the moment the request is sent to the last byte of its answer. */
  readonly requestTimeoutMs: number;
  readonly maxBodyBytes: number;
  /** False takes a new connection for each request, for peers that close after an answer unannounced. */
  readonly keepAlive?: boolean;
  readonly tracer?: Tracer;
  /** Is told of every exchange, for a recording. */
  readonly tap?: WireTap;
}

/** Longer than the longest pause between two polls, so that polling keeps its connection. */
const KEEP_ALIVE_MS = 30_000;
/** A connection that ends this soon after an answer was not idle: the peer closes after each answer. */
const CLOSED_AT_ONCE_MS = 1_000;
/** One such end may be a restart; as many as this are a habit. */
const CLOSES_BEFORE_LEARNED = 2;

/** A read was lost on a connection that had served before, with no byte of its answer: it may go out again. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

/** Shared by all connections of this process: an action resumes the session of an earlier one. */
const tlsSessions = new TlsSessions();

type OnSocket = (error: Error | null, socket?: Socket) => void;

/** Gets its connections, with and without TLS, from `connect`. */
class ConnectingAgent extends Agent {
  readonly #connect: (onSocket: OnSocket) => void;

  constructor(connect: (onSocket: OnSocket) => void) {
    super({ keepAlive: true, timeout: KEEP_ALIVE_MS });
    this.#connect = connect;
  }

  override createConnection(_: object, callback: (error: Error | null, socket: Duplex) => void): undefined {
    // Node passes no socket with an error; its types want one.
    this.#connect(callback as OnSocket);
  }
}

/**
 * HTTP/1.1 to one peer over one kept-alive connection, one request at a time, bytes both ways; redirects are not
 * followed. Failures are `BmcError`s; an abort rejects with the signal's reason. Statuses are left to the caller.
 *
 * It uses Node's own client: undici's parser is WebAssembly, which each process of one action would have to compile.
 */
export class HttpConnection {
  readonly #options: HttpConnectionOptions;
  readonly #agent = new ConnectingAgent((onSocket) => this.#connect(onSocket));
  readonly #url: URL;
  /** Settles when the requests so far have ended. */
  #turn: Promise<unknown> = Promise.resolve();
  #connecting: Socket | undefined;
  #closed = false;
  #certificateExpiresMs: number | undefined;
  #keepAlive: boolean;
  #roundTrips = 0;
  #connections = 0;
  /** Answers that the present connection has carried, and when the last one ended well. */
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

  /** When the certificate seen last expires, milliseconds since the epoch; undefined without TLS. */
  get certificateExpiresMs(): number | undefined {
    return this.#certificateExpiresMs;
  }

  /** False once the peer has proved to close its connections after an answer. */
  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  /** RFC 9112 section 9.3.1: a read that met the end of an old connection is sent once more on a new one. */
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
      // One that was aborted in the queue ends when those before it have.
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
          // Without the port where it is the scheme's own.
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
        // The rest of the answer is of no use, nor is the connection it would come on.
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
          // What the peer no longer waits for is not sent.
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

  /** Frees the connection at once; requests under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#answeredAtMs = undefined;
    this.#connecting?.destroy();
    this.#agent.destroy();
  }
}

/** Below these paths, a session's ID opens a BMC and an account's may be a user's name. */
const PRIVATE_MEMBERS = /(\/(?:Sessions|Accounts)\/)[^/?#]+/gi;

/**
 * The span of a request, by OpenTelemetry's conventions for HTTP clients. It uses `doing` and not the URL, which may contain
 * a webhook's secret.
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
