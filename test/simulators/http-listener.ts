import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Certificate, createCertificate, fingerprintOf } from "../support/certificate.ts";

export interface HttpListenerOptions {
  /** `http`, or a certificate; a self-signed one is made when absent. */
  readonly tls?: Certificate | "http";
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  /** Added to every answer. */
  readonly latencyMs?: number;
}

/** One request as it came in. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the body in chunks, without saying how long it is. */
  readonly chunked?: true;
}

/**
 * What goes wrong with an answer: the connection closes before or after the request was carried out, or nothing is
 * ever said, or the answer breaks off.
 */
export type AnswerFault = "close-before" | "close-after" | "silent" | "truncated";

/** An HTTP or HTTPS server on a real socket that gives whole requests to `answer` and counts what it sees. */
export class HttpListener {
  readonly requests: SeenRequest[] = [];
  /** Undefined for plain HTTP. */
  readonly certificate: Certificate | undefined;
  readonly host: string;
  /** TCP connections accepted so far. */
  connections = 0;
  latencyMs: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #faults: AnswerFault[] = [];
  readonly #answer: (request: SeenRequest) => Reply;
  #port = 0;

  constructor(options: HttpListenerOptions, answer: (request: SeenRequest) => Reply) {
    this.#answer = answer;
    this.host = options.host ?? "127.0.0.1";
    this.latencyMs = options.latencyMs ?? 0;
    this.certificate =
      options.tls === "http"
        ? undefined
        : (options.tls ??
          createCertificate({ commonName: "simulator", altNames: ["127.0.0.1", "::1", "localhost"] }));
    const handle = (request: IncomingMessage, response: ServerResponse) =>
      void this.#handle(request, response);
    this.#server = this.certificate ? createHttps(this.certificate, handle) : createHttp(handle);
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("connection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
    });
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    const host = this.host.includes(":") ? `[${this.host}]` : this.host;
    return `${this.certificate ? "https" : "http"}://${host}:${this.#port}`;
  }

  /** SHA-256 of the certificate, as a connection's `tls.fingerprint`. */
  get fingerprint(): string {
    if (!this.certificate) throw new Error("plain HTTP has no certificate");
    return fingerprintOf(this.certificate);
  }

  /** Makes the next answer go wrong. */
  fail(fault: AnswerFault): void {
    this.#faults.push(fault);
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, this.host, resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const seen = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      this.requests.push(seen);
      if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
      const fault = this.#faults.shift();
      if (fault === "close-before") response.destroy();
      else deliver(response, this.#answer(seen), fault);
    } catch {
      response.destroy();
    }
  }
}

function deliver(response: ServerResponse, reply: Reply, fault?: AnswerFault): void {
  const { status, headers, body = "", chunked } = reply;
  if (fault === "silent") return;
  if (fault === "close-after") {
    response.destroy();
    return;
  }
  const length = Buffer.byteLength(body) + (fault === "truncated" ? 64 : 0);
  response.writeHead(status, { ...(chunked ? {} : { "Content-Length": length }), ...headers });
  if (fault === "truncated") response.write(body, () => response.destroy());
  else response.end(body);
}
