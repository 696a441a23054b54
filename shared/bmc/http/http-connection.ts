import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { Client, type Dispatcher } from "undici";
import { BmcError } from "../../contract/bmc-error.ts";
import { TimeoutReached } from "../../timeout.ts";
import { type SpanStart, type Tracer, untraced } from "../../tracing/tracer.ts";
import { exchangeError } from "./connection-error.ts";
import { authority, type Endpoint } from "./endpoint.ts";
import { openSocket } from "./tls.ts";

type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
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

/**
 * HTTP/1.1 to one peer over one kept-alive connection, one request at a time, bytes both ways; redirects are not
 * followed. Failures are `BmcError`s; an abort rejects with the signal's reason. Statuses are left to the caller.
 */
export class HttpConnection {
  readonly #options: HttpConnectionOptions;
  readonly #client: Client;
  #connecting: Socket | undefined;
  #certificateExpiresMs: number | undefined;
  #keepAlive: boolean;
  #roundTrips = 0;
  /** Answers that the present connection has carried, and when the last one ended well. */
  #answers = 0;
  #answeredAtMs: number | undefined;
  #sudden = 0;

  constructor(options: HttpConnectionOptions) {
    this.#options = options;
    this.#keepAlive = options.keepAlive ?? true;
    this.#client = new Client(`${options.scheme}://${authority(options)}`, {
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
      // Time is kept here, exactly; the client's own timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, callback) => {
        this.#connecting = openSocket(options, (error, socket, certificate) => {
          this.#connecting = undefined;
          this.#answers = 0;
          if (certificate) this.#certificateExpiresMs = certificate.validToDate.getTime();
          if (socket) callback(null, socket);
          else callback(error ?? new Error("no socket"), null);
        });
      },
    });
    this.#client.on("disconnect", () => {
      const atMs = this.#answeredAtMs;
      if (this.#keepAlive && atMs !== undefined && performance.now() - atMs < CLOSED_AT_ONCE_MS) {
        this.#noteSuddenClose();
      }
    });
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
    return tracer.span(spanOf(request, host, port), async (span) => {
      const answer = await this.#sendOnce(request, signal);
      const { status } = answer;
      span.note({
        "http.response.status_code": status,
        "error.type": status < 400 ? undefined : String(status),
      });
      return answer;
    });
  }

  #noteSuddenClose(): void {
    this.#sudden++;
    if (this.#sudden >= CLOSES_BEFORE_LEARNED) this.#keepAlive = false;
  }

  #sendOnce(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const { doing, isWrite } = request;
    const requestTimeoutMs = request.requestTimeoutMs ?? this.#options.requestTimeoutMs;
    const maxBodyBytes = request.maxBodyBytes ?? this.#options.maxBodyBytes;
    return new Promise((resolve, reject) => {
      let controller: Dispatcher.DispatchController | undefined;
      let timer: NodeJS.Timeout | undefined;
      let status = 0;
      let headers: Headers = {};
      const chunks: Buffer[] = [];
      let received = 0;

      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      const fail = (reason: unknown) => {
        finish();
        reject(reason);
        // The rest of the answer is of no use, nor is the connection it would come on.
        controller?.abort(reason instanceof Error ? reason : new Error("aborted"));
      };
      const onAbort = () => fail(signal.reason);
      const onTimeout = () => {
        const message = `${doing}: no answer within ${requestTimeoutMs} ms`;
        const cause = new TimeoutReached(requestTimeoutMs);
        fail(new BmcError("timeout", message, { cause, uncertain: isWrite }));
      };
      signal.addEventListener("abort", onAbort, { once: true });

      this.#client.dispatch(
        {
          method: request.method as Dispatcher.HttpMethod,
          path: request.path,
          headers: request.headers,
          body: request.body ?? null,
          reset: !this.#keepAlive,
        },
        {
          onRequestStart: (started) => {
            if (signal.aborted) {
              started.abort(new Error("aborted before it was sent"));
              return;
            }
            controller = started;
            this.#roundTrips++;
            this.#answeredAtMs = undefined;
            timer = setTimeout(onTimeout, requestTimeoutMs);
          },
          onResponseStart: (_, statusCode, incoming) => {
            if (statusCode < 200) return;
            status = statusCode;
            headers = flatten(incoming);
          },
          onResponseData: (_, chunk) => {
            received += chunk.length;
            if (received <= maxBodyBytes) chunks.push(chunk);
            else {
              const message = `${doing} answered more than ${maxBodyBytes} bytes`;
              fail(new BmcError("protocol", message, { uncertain: isWrite }));
            }
          },
          onResponseEnd: () => {
            finish();
            this.#answers++;
            // A peer that says that it closes is taken at its word by the HTTP client already.
            const announced = /\bclose\b/i.test(headers["connection"] ?? "");
            this.#answeredAtMs = announced || !this.#keepAlive ? undefined : performance.now();
            resolve({ status, headers, body: Buffer.concat(chunks) });
          },
          onResponseError: (_, error) => {
            finish();
            const sent = controller !== undefined;
            if (
              sent &&
              this.#answers > 0 &&
              status === 0 &&
              !(error instanceof BmcError) &&
              this.#keepAlive
            ) {
              this.#noteSuddenClose();
              this.#answers = 0;
              if (!isWrite && received === 0 && !signal.aborted && error.name !== "HTTPParserError") {
                reject(new StaleConnection(doing));
                return;
              }
            }
            const progress = { uncertain: isWrite && sent, answered: status !== 0 };
            reject(error instanceof BmcError ? error : exchangeError(error, doing, progress));
          },
        },
      );
    });
  }

  /** Frees the connection at once; requests under way fail. */
  async close(): Promise<void> {
    this.#connecting?.destroy();
    await this.#client.destroy();
  }
}

/** Below these paths, a session's ID opens a BMC and an account's may be a user's name. */
const PRIVATE_MEMBERS = /(\/(?:Sessions|Accounts)\/)[^/?#]+/gi;

/**
 * As OpenTelemetry's conventions have an HTTP client's span. The URL itself may hold a webhook's secret; `doing`
 * never does.
 */
function spanOf({ method, doing }: HttpRequest, host: string, port: number): SpanStart {
  const name = doing.replace(/[?#].*/s, "").replace(PRIVATE_MEMBERS, "$1{id}");
  const [, path] = /^[A-Z]+ (\/\S*)$/.exec(name) ?? [];
  const peer = { "server.address": host, "server.port": port };
  return { name, kind: "client", attributes: { "http.request.method": method, "url.path": path, ...peer } };
}

function flatten(incoming: NodeJS.Dict<string | string[]>): Headers {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}
