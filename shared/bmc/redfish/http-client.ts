import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { TimeoutReached } from "../../timeout.ts";
import { BmcError } from "../errors.ts";
import { exchangeError } from "../http/connection-error.ts";
import { authority, type Endpoint, openSocket } from "../http/tls.ts";
import { decodeBody } from "./body.ts";
import { describe } from "./describe-request.ts";
import { revealBody } from "./secret-body.ts";

/** The most that is read of one answer. A System with everything a vendor adds stays below 100 kB. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
/** Longer than the longest pause between two polls, so that polling keeps its connection. */
const KEEP_ALIVE_MS = 30_000;
/** A connection that ends this soon after an answer was not idle: the BMC closes after each answer. */
const CLOSED_AT_ONCE_MS = 1_000;
/** One such end may be a restart; as many as this are a habit. */
const CLOSES_BEFORE_LEARNED = 2;

type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path on this BMC. */
  readonly path: string;
  readonly headers?: Headers;
  /** Sent as JSON; a `Secret` in it is opened on the wire only. */
  readonly body?: unknown;
  /** The most that is read of the answer; 1 MiB when absent. */
  readonly maxBytes?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Headers;
  /** Parsed JSON; undefined when there was none or, in a refusal or a write's answer, something else. */
  readonly body: unknown;
  /** Where the answer came from, after redirects. */
  readonly path: string;
}

interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

export interface HttpClientOptions extends Endpoint {
  /** From the moment the request is sent to the last byte of its answer. */
  readonly requestTimeoutMs: number;
  /** False leaves `Accept-Encoding` out, for BMCs that refuse `identity`. */
  readonly identityEncoding: boolean;
  /** False takes a new connection for each request, for BMCs that close after an answer unannounced. */
  readonly keepAlive: boolean;
}

/** A read was lost on a connection that had served before, with no byte of its answer: it may go out again. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

/**
 * HTTP/1.1 to one BMC over one kept-alive connection, one request at a time, JSON both ways. Failures are
 * `BmcError`s; an abort rejects with the signal's reason. Statuses are left to the caller.
 */
export class HttpClient {
  /** `scheme://host:port` of every request. */
  readonly origin: string;
  readonly #options: HttpClientOptions;
  readonly #client: Client;
  #connecting: Socket | undefined;
  #identityEncoding: boolean;
  #keepAlive: boolean;
  #roundTrips = 0;
  /** Answers that the present connection has carried, and when the last one ended well. */
  #answers = 0;
  #answeredAtMs: number | undefined;
  #sudden = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#identityEncoding = options.identityEncoding;
    this.#keepAlive = options.keepAlive;
    this.origin = `${options.scheme}://${authority(options)}`;
    this.#client = new Client(this.origin, {
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
      // Time is kept here, exactly; the client's own timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_, callback) => {
        this.#connecting = openSocket(options, (error, socket) => {
          this.#connecting = undefined;
          this.#answers = 0;
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

  /** Requests that were sent and waited for. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  get identityEncoding(): boolean {
    return this.#identityEncoding;
  }

  /** False once the BMC has proved to close its connections after an answer. */
  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  async exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    let path = request.path;
    for (let redirects = 0; ; redirects++) {
      const raw = await this.#sendEncoded({ ...request, path }, signal);
      const next = redirectTarget(raw, request, path, this.origin);
      if (next === undefined) return await this.#parse(raw, request, path);
      if (redirects === MAX_REDIRECTS) {
        throw new BmcError(
          "protocol",
          `${describe(request)} was redirected more than ${MAX_REDIRECTS} times`,
        );
      }
      path = next;
    }
  }

  /** Frees the connection at once; requests under way fail. */
  async close(): Promise<void> {
    this.#connecting?.destroy();
    await this.#client.destroy();
  }

  async #sendEncoded(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    const answer = await this.#sendAfresh(request, signal);
    if (answer.status !== 406 || !this.#identityEncoding) return answer;
    this.#identityEncoding = false;
    return await this.#sendAfresh(request, signal);
  }

  /** RFC 9112 section 9.3.1: a read that met the end of an old connection is sent once more on a new one. */
  async #sendAfresh(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    try {
      return await this.#send(request, signal);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return await this.#send(request, signal);
    }
  }

  #noteSuddenClose(): void {
    this.#sudden++;
    if (this.#sudden >= CLOSES_BEFORE_LEARNED) this.#keepAlive = false;
  }

  #send(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    signal.throwIfAborted();
    const doing = describe(request);
    const isWrite = request.method !== "GET";
    const mostBytes = request.maxBytes ?? MAX_BODY_BYTES;
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
      };
      /** Ends the exchange from our side; the connection is of no use afterwards. */
      const giveUp = (reason: Error) => {
        fail(reason);
        controller?.abort(reason);
      };
      const onAbort = () => {
        fail(signal.reason);
        controller?.abort(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      const onTimeout = () => {
        const afterMs = this.#options.requestTimeoutMs;
        const message = `${doing}: no answer within ${afterMs} ms`;
        giveUp(new BmcError("timeout", message, { cause: new TimeoutReached(afterMs), uncertain: isWrite }));
      };
      signal.addEventListener("abort", onAbort, { once: true });

      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: (started) => {
          if (signal.aborted) {
            started.abort(new Error("aborted before it was sent"));
            return;
          }
          controller = started;
          this.#roundTrips++;
          this.#answeredAtMs = undefined;
          timer = setTimeout(onTimeout, this.#options.requestTimeoutMs);
        },
        onResponseStart: (_, statusCode, incoming) => {
          if (statusCode < 200) return;
          status = statusCode;
          headers = flatten(incoming);
        },
        onResponseData: (_, chunk) => {
          received += chunk.length;
          if (received <= mostBytes) chunks.push(chunk);
          else {
            const message = `${doing} answered more than ${mostBytes} bytes`;
            giveUp(new BmcError("protocol", message, { uncertain: isWrite }));
          }
        },
        onResponseEnd: () => {
          finish();
          this.#answers++;
          // A BMC that says that it closes is taken at its word by the HTTP client already.
          const announced = /\bclose\b/i.test(headers["connection"] ?? "");
          this.#answeredAtMs = announced || !this.#keepAlive ? undefined : performance.now();
          resolve({ status, headers, bytes: Buffer.concat(chunks) });
        },
        onResponseError: (_, error) => {
          const sent = controller !== undefined;
          const progress = { uncertain: isWrite && sent, answered: status !== 0 };
          const reused = this.#answers > 0;
          if (sent && reused && status === 0 && !(error instanceof BmcError) && this.#keepAlive) {
            this.#noteSuddenClose();
            this.#answers = 0;
            if (!isWrite && received === 0 && !signal.aborted && error.name !== "HTTPParserError") {
              fail(new StaleConnection(doing));
              return;
            }
          }
          fail(error instanceof BmcError ? error : exchangeError(error, doing, progress));
        },
      };
      this.#client.dispatch(
        {
          method: request.method,
          path: request.path,
          headers: this.#headersOf(request),
          body: request.body === undefined ? null : revealBody(request.body),
          reset: !this.#keepAlive,
        },
        handler,
      );
    });
  }

  #headersOf(request: HttpRequest): Record<string, string> {
    return {
      accept: "application/json",
      "odata-version": "4.0",
      ...(this.#identityEncoding ? { "accept-encoding": "identity" } : {}),
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...request.headers,
    };
  }

  async #parse(raw: RawAnswer, request: HttpRequest, path: string): Promise<HttpAnswer> {
    const { status, headers } = raw;
    const doing = describe(request);
    // The status alone answers a write and a refusal; what cannot be read of their bodies is only less to tell.
    const needed = request.method === "GET" && status < 300 && status !== 202;
    const decoded = await decodeBody(raw.bytes, headers, request.maxBytes ?? MAX_BODY_BYTES);
    if (decoded.problem !== undefined && needed) {
      throw new BmcError("protocol", `${doing} answered ${status} with ${decoded.problem}`);
    }
    return { status, headers, body: decoded.value, path };
  }
}

/**
 * The path of a Redfish link, given relative or absolute. Undefined when it is no link or leads to another
 * host: credentials go to the BMC that was asked for, and nowhere else.
 */
export function localPath(link: string | undefined, origin: string, base = "/"): string | undefined {
  if (!link) return undefined;
  const url = URL.parse(link, origin + base);
  if (url?.origin !== new URL(origin).origin) return undefined;
  return url.pathname + url.search;
}

function redirectTarget(
  raw: RawAnswer,
  request: HttpRequest,
  path: string,
  origin: string,
): string | undefined {
  const { status } = raw;
  const location = raw.headers["location"];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const target = localPath(location, origin, path);
  if (target === undefined) {
    throw new BmcError(
      "protocol",
      `${describe(request)} was redirected to another host or scheme: ${location}`,
    );
  }
  // RFC 9110 section 15.4: only 307 and 308 keep the method and the body of a write.
  if (request.method !== "GET" && status < 307) {
    throw new BmcError(
      "protocol",
      `${describe(request)} was redirected with ${status}, which would lose the request`,
    );
  }
  return target;
}

function flatten(incoming: NodeJS.Dict<string | string[]>): Headers {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}
