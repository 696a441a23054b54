import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { TimeoutReached } from "../../timeout.ts";
import { BmcError } from "../errors.ts";
import { decodeBody } from "./body.ts";
import { exchangeError } from "./errors.ts";
import { authority, type Endpoint, openSocket } from "./tls.ts";

/** The most that is read of one answer. A System with everything a vendor adds stays below 100 kB. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;
/** Longer than the longest pause between two polls, so that polling keeps its connection. */
const KEEP_ALIVE_MS = 30_000;

type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path on this BMC. */
  readonly path: string;
  readonly headers?: Headers;
  /** Sent as JSON. */
  readonly body?: unknown;
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
  #roundTrips = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#identityEncoding = options.identityEncoding;
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
          if (socket) callback(null, socket);
          else callback(error ?? new Error("no socket"), null);
        });
      },
    });
  }

  /** Requests that were sent and waited for. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  get identityEncoding(): boolean {
    return this.#identityEncoding;
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
    const answer = await this.#send(request, signal);
    if (answer.status !== 406 || !this.#identityEncoding) return answer;
    this.#identityEncoding = false;
    return await this.#send(request, signal);
  }

  #send(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    signal.throwIfAborted();
    const doing = describe(request);
    const isWrite = request.method !== "GET";
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
          timer = setTimeout(onTimeout, this.#options.requestTimeoutMs);
        },
        onResponseStart: (_, statusCode, incoming) => {
          if (statusCode < 200) return;
          status = statusCode;
          headers = flatten(incoming);
        },
        onResponseData: (_, chunk) => {
          received += chunk.length;
          if (received <= MAX_BODY_BYTES) chunks.push(chunk);
          else {
            const message = `${doing} answered more than ${MAX_BODY_BYTES} bytes`;
            giveUp(new BmcError("protocol", message, { uncertain: isWrite }));
          }
        },
        onResponseEnd: () => {
          finish();
          resolve({ status, headers, bytes: Buffer.concat(chunks) });
        },
        onResponseError: (_, error) => {
          const progress = { uncertain: isWrite && controller !== undefined, answered: status !== 0 };
          fail(error instanceof BmcError ? error : exchangeError(error, doing, progress));
        },
      };
      this.#client.dispatch(
        {
          method: request.method,
          path: request.path,
          headers: this.#headersOf(request),
          body: request.body === undefined ? null : JSON.stringify(request.body),
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
    const decoded = await decodeBody(raw.bytes, headers, MAX_BODY_BYTES);
    if (decoded.problem !== undefined && needed) {
      throw new BmcError("protocol", `${doing} answered ${status} with ${decoded.problem}`);
    }
    return { status, headers, body: decoded.value, path };
  }
}

/** The request in words: never its body, which may hold a password. */
export function describe(request: Pick<HttpRequest, "method" | "path">): string {
  return `${request.method} ${request.path}`;
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
