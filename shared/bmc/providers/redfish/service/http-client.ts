import type { Readable } from "node:stream";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { INPUT_BYTES } from "../../../../input-limits.ts";
import { revealJson } from "../../../../secret.ts";
import { authority } from "../../../http/endpoint.ts";
import {
  HttpConnection,
  type HttpConnectionOptions,
  type HttpAnswer as RawAnswer,
} from "../../../http/http-connection.ts";
import { leavesOpen, type WriteEffect } from "../../../operations/write-proof.ts";
import { decodeBody } from "./body.ts";

/** The maximum size of an answer. A System with everything that vendors add has less than 100 kB. */
const MAX_BODY_BYTES = INPUT_BYTES.redfishAnswer;
const MAX_REDIRECTS = 3;

type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A path on this BMC. */
  readonly path: string;
  readonly headers?: Headers;
  /** The body, sent as JSON. A `Secret` in it is revealed only when it is sent. */
  readonly body?: unknown;
  /** The maximum size of the answer. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** The effect of sending it again. Default: that of the method. */
  readonly effect?: WriteEffect;
}

/** The effect of sending a request a second time; undefined for a read. */
export function effectOf({
  method,
  effect,
}: Pick<HttpRequest, "method" | "effect">): WriteEffect | undefined {
  if (method === "GET") return undefined;
  return effect ?? (method === "PATCH" ? "setting" : "command");
}

/** Describes a request without its body, which may contain a password. */
export function describe({ method, path }: Pick<HttpRequest, "method" | "path">): string {
  return `${method} ${path}`;
}

/** A file that is sent only once, while it is read. */
export interface HttpUpload {
  readonly method: "POST";
  /** A path on this BMC. */
  readonly path: string;
  readonly headers?: Headers;
  readonly content: Readable;
  /** Time from the first byte of the request to the last byte of the answer. */
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Headers with names in lower case. */
  readonly headers: Headers;
  /** The parsed JSON; undefined if there was none or, in a refusal or a write's answer, something else. */
  readonly body: unknown;
  /** The body if it is text instead. */
  readonly text?: string;
  /** The path of the answer, after redirects. */
  readonly path: string;
}

export interface HttpClientOptions extends Omit<HttpConnectionOptions, "maxBodyBytes"> {
  /** False omits `Accept-Encoding`, for BMCs that refuse `identity`. */
  readonly identityEncoding: boolean;
}

/**
 * Sends HTTP/1.1 requests to one BMC over one kept-alive connection, one at a time, with JSON in both directions. Failures
 * are `BmcError`s; an abort rejects with the signal's reason. The caller handles statuses.
 */
export class HttpClient {
  /** The origin `scheme://host:port` of every request. */
  readonly origin: string;
  readonly #connection: HttpConnection;
  #identityEncoding: boolean;

  constructor(options: HttpClientOptions) {
    this.#identityEncoding = options.identityEncoding;
    this.origin = `${options.scheme}://${authority(options)}`;
    this.#connection = new HttpConnection({ ...options, maxBodyBytes: MAX_BODY_BYTES });
  }

  get roundTrips(): number {
    return this.#connection.roundTrips;
  }

  /** When the latest certificate expires, in milliseconds since the epoch; undefined without TLS. */
  get certificateExpiresMs(): number | undefined {
    return this.#connection.certificateExpiresMs;
  }

  get identityEncoding(): boolean {
    return this.#identityEncoding;
  }

  /** False once the BMC has repeatedly closed its connection after an answer. */
  get keepAlive(): boolean {
    return this.#connection.keepAlive;
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

  /** Uploads a file in one attempt: neither redirects nor refused encodings send the file again. */
  async upload(request: HttpUpload, signal: AbortSignal): Promise<HttpAnswer> {
    const { method, path, headers, content, timeoutMs } = request;
    const raw = await this.#connection.send(
      {
        method,
        path,
        headers: { ...this.#headersOf({ method, path }), ...headers },
        body: content,
        doing: describe(request),
        isWrite: true,
        requestTimeoutMs: timeoutMs,
      },
      signal,
    );
    return await this.#parse(raw, { method, path }, path);
  }

  /** Closes the connection immediately. Requests in flight fail. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  async #sendEncoded(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    const answer = await this.#send(request, signal);
    if (answer.status !== 406 || !this.#identityEncoding) return answer;
    this.#identityEncoding = false;
    return await this.#send(request, signal);
  }

  #send(request: HttpRequest, signal: AbortSignal): Promise<RawAnswer> {
    const { method, path, body, maxBytes } = request;
    return this.#connection.send(
      {
        method,
        path,
        headers: this.#headersOf(request),
        ...(body === undefined ? {} : { body: revealJson(body) }),
        doing: describe(request),
        isWrite: method !== "GET",
        ...defined({ maxBodyBytes: maxBytes }),
      },
      signal,
    );
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
    // For a write and a refusal, the status is sufficient. An unreadable body only shortens the message.
    const needed = request.method === "GET" && status < 300 && status !== 202;
    const decoded = await decodeBody(raw.body, headers, request.maxBytes ?? MAX_BODY_BYTES);
    if (decoded.problem !== undefined && needed) {
      const message = `${doing} answered ${status} with ${decoded.problem}`;
      throw new BmcError("protocol", message, { transient: true });
    }
    return { status, headers, body: decoded.value, ...defined({ text: decoded.text }), path };
  }
}

/**
 * The path of a Redfish link, given relative or absolute. Undefined if it is not a link or leads to another host, because
 * credentials are sent only to the requested BMC.
 */
export function localPath(link: string | undefined, origin: string, base = "/"): string | undefined {
  if (!link) return undefined;
  const url = URL.parse(link, origin + base);
  if (url?.origin !== new URL(origin).origin) return undefined;
  // With two slashes at the beginning, the next part would become a host when the path is resolved again.
  return url.pathname.replace(/^\/{2,}/, "/") + url.search;
}

/** The path of a `Location`, whatever its host. Undefined if it is invalid. */
export function ownPath(location: string | undefined, origin: string): string | undefined {
  const url = location ? URL.parse(location, origin) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return undefined;
  return url.pathname.replace(/^\/{2,}/, "/") + url.search;
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
  // Only 307 and 308 keep the method and the body of a write (RFC 9110 section 15.4). With 301 and 302, a path that differs only
  // in its last slash names the same resource, and nothing was carried out yet.
  const isSame = status < 303 && target.replace(/\/$/, "") === path.replace(/\/$/, "");
  if (request.method !== "GET" && status < 307 && !isSame) {
    throw new BmcError(
      "protocol",
      `${describe(request)} was redirected with ${status}, which would lose the request`,
      { uncertain: leavesOpen("http", status, effectOf(request)) },
    );
  }
  return target;
}
