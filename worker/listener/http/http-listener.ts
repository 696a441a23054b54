import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { addressText, type ListenAddress, listenProblem } from "../addresses.ts";
import { ListeningServer, tlsOptions } from "../listening-server.ts";
import { hostsNamed, namesLoopback } from "../loopback.ts";
import { Access, type Grant } from "./access.ts";
import type { Route } from "./route.ts";

export interface HttpListenerOptions {
  readonly routes: readonly Route[];
  readonly log: Logger;
  /** If it is absent, everyone may use plain HTTP. */
  readonly access?: Access | undefined;
  readonly limits?: Partial<HttpLimits>;
}

/** Limits per client and connection. */
export interface HttpLimits {
  /** Above this number the oldest connection is closed, so that probes are served however many pages are open. */
  readonly connections: number;
  readonly headerBytes: number;
  /** Time for the headers of a request, and for the TLS handshake. */
  readonly headersTimeoutMs: number;
  /** How long a connection is kept without a request. */
  readonly keepAliveMs: number;
  /** Time after which a connection with an answer in progress is closed, if the client does not read or a stream is silent. */
  readonly silenceMs: number;
}

const LIMITS: HttpLimits = {
  connections: 128,
  headerBytes: 8_192,
  headersTimeoutMs: 10_000,
  keepAliveMs: 5_000,
  silenceMs: 60_000,
};
/** How often Node checks for late headers. */
const CHECK_INTERVAL_MS = 1_000;
/** Requests per connection. */
const MOST_REQUESTS = 1_000;

/** Defaults that a route may override. */
const HEADERS: readonly (readonly [name: string, value: string])[] = [
  ["Cache-Control", "no-store"],
  ["Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["Referrer-Policy", "no-referrer"],
  ["X-Content-Type-Options", "nosniff"],
  ["X-Frame-Options", "DENY"],
];

/**
 * Serves read-only routes to clients that may be slow or hostile: limits what each can use, and keeps errors of one client
 * from affecting others.
 */
export class HttpListener {
  readonly #routes: readonly Route[];
  readonly #log: Logger;
  readonly #access: Access;
  readonly #server: ListeningServer;
  /** Connections with an answer in progress. */
  readonly #answering = new Map<Socket, Grant>();

  constructor({ routes, log, limits, access = new Access({}) }: HttpListenerOptions) {
    this.#routes = routes;
    this.#log = log;
    this.#access = access;
    const { connections, headerBytes, headersTimeoutMs, keepAliveMs, silenceMs } = { ...LIMITS, ...limits };
    const options = {
      maxHeaderSize: headerBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: headersTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersTimeoutMs),
    };
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      this.#onRequest(request, response);
    const { tls } = access;
    const server = tls.options
      ? createTlsServer({ ...options, ...tlsOptions(tls, headersTimeoutMs) }, onRequest)
      : createServer(options, onRequest);
    server.maxRequestsPerSocket = MOST_REQUESTS;
    server.setTimeout(silenceMs);
    this.#server = new ListeningServer({ server, tls, connections, log });
    // Ends answers whose visitor has lost access.
    tls.onChange(() => {
      for (const [socket, grant] of this.#answering) if (!grant()) socket.destroy();
    });
  }

  /** The address with the port in use. */
  get address(): ListenAddress {
    return this.#server.address;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Listens on an address. Rejects with a system error, for example if the address is in use. */
  listen(address: ListenAddress): Promise<void> {
    return this.#server.listen(address);
  }

  /** Closes all connections, including those with answers in progress. */
  close(): Promise<void> {
    return this.#server.close();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    for (const [name, value] of HEADERS) response.setHeader(name, value);
    // The client may disconnect while an answer is written.
    response.on("error", () => undefined);
    // Pipelined requests would queue as many answers as requests fit into one packet.
    if (this.#answering.has(socket)) {
      refuse(response, 503, "one request at a time");
      return;
    }
    const grant = this.#access.grantFor(request);
    this.#answering.set(socket, grant ?? (() => true));
    response.once("close", () => this.#answering.delete(socket));
    this.#answer(request, response, grant !== undefined).catch((thrown) =>
      this.#onFailure(thrown, urlOf(request)?.pathname ?? "", response),
    );
  }

  async #answer(request: IncomingMessage, response: ServerResponse, granted: boolean): Promise<void> {
    const { method, headers } = request;
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      refuse(response, 405, "only GET and HEAD");
      return;
    }
    if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0) {
      refuse(response, 400, "a request with a body");
      return;
    }
    const url = urlOf(request);
    if (url === undefined) {
      refuse(response, 400, "not a path");
      return;
    }
    const hosts = hostsNamed(request.rawHeaders);
    if (hosts === undefined) {
      refuse(response, 400, "the request names several hosts");
      return;
    }
    if (this.#server.isLoopback && ![...hosts, url.host].every(namesLoopback)) {
      refuse(response, 403, "this address is served to this machine alone");
      return;
    }
    const route = this.#routes.find(({ path }) => fits(path, url.pathname));
    if (!granted && !route?.open) {
      this.#askForCredentials(response);
      return;
    }
    if (route === undefined) {
      sendText(response, 404, "nothing is here");
      return;
    }
    await route.handle(request, response, url, granted);
    // A stream does not end by itself, and HEAD needs only its headers.
    if (method === "HEAD" && !response.writableEnded) response.end();
  }

  /**
   * Asks for credentials. For Basic, browsers show a password prompt and then send the password with every request,
   * including event streams.
   */
  #askForCredentials(response: ServerResponse): void {
    if (!this.#access.takesTokens) {
      refuse(response, 403, "a client certificate is required");
      return;
    }
    response.setHeader("WWW-Authenticate", [
      'Bearer realm="pbnj-worker"',
      'Basic realm="pbnj-worker", charset="UTF-8"',
    ]);
    sendText(response, 401, "a token is required: as Authorization: Bearer, or as the password of any user");
  }

  #onFailure(thrown: unknown, path: string, response: ServerResponse): void {
    // The client disconnected.
    if (response.destroyed) return;
    const error = textOf(thrown);
    this.#log.error({ path, error }, "page rendering failed");
    if (response.headersSent) {
      response.destroy();
      return;
    }
    for (const name of response.getHeaderNames()) if (/^content-/.test(name)) response.removeHeader(name);
    sendText(response, 500, "page rendering failed: the worker's log says why");
  }
}

function fits(path: Route["path"], pathname: string): boolean {
  if (typeof path === "string") return path === pathname;
  return new RegExp(path.source, path.flags.replace(/[gy]/g, "")).test(pathname);
}

/** The URL of a request: a path or, from proxies, a whole URL (RFC 9112 section 3.2). */
function urlOf({ url: target = "" }: IncomingMessage): URL | undefined {
  return (target.startsWith("/") ? URL.parse(`http://localhost${target}`) : URL.parse(target)) ?? undefined;
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.statusCode = status;
  response.end(`${text}\n`);
}

/** Refuses a request and closes the connection, because further data after such a request cannot be trusted. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.setHeader("Connection", "close");
  sendText(response, status, text);
}

/**
 * Listens on the configured address. Rejects with one line if a configured address is not available; undefined if the
 * default one is not.
 */
export async function serveHttp(
  { host, port, required }: ListenAddress & { readonly required: boolean },
  routes: readonly Route[],
  log: Logger,
  access?: Access,
): Promise<HttpListener | undefined> {
  const listener = new HttpListener({ routes, log, access });
  try {
    await listener.listen({ host, port });
  } catch (thrown) {
    const reason = listenProblem(thrown);
    const where = addressText({ host, port });
    if (required) throw new Error(`cannot listen on ${where} (http-address): ${reason}`, { cause: thrown });
    log.warn(
      { address: where, reason, hint: "give it a free one with --http-address, or off" },
      "status page, metrics and health not served",
    );
    return undefined;
  }
  log.info({ address: listener.url }, "serving the status page, metrics and health");
  return listener;
}
