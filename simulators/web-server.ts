import { once } from "node:events";
import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps, Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { type Certificate, createCertificate, fingerprintOf } from "./certificate.ts";
import { listenOn } from "./free-port.ts";

/** `http`, or a certificate. Defaults to a self-signed certificate. */
export type WebServerTls = Certificate | "http" | undefined;

const YEAR_MS = 365 * 86_400_000;

/** Handles a request. */
export type HandleRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP or HTTPS server on a real socket that can be stopped with all its connections and listen again. */
export class WebServer {
  #certificate: Certificate | undefined;
  /** The number of TCP connections accepted so far. */
  connections = 0;
  /** A gateway in front of the server: it answers itself, or passes on the request with the response or one of its own. */
  gateway: ((request: IncomingMessage, response: ServerResponse, handle: HandleRequest) => void) | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #host = "";
  #port = 0;

  constructor(tls: WebServerTls, handle: HandleRequest) {
    this.#certificate = certificateOf(tls);
    const take: HandleRequest = (request, response) =>
      this.gateway ? this.gateway(request, response, handle) : handle(request, response);
    this.#server = this.#certificate ? createHttps(this.#certificate, take) : createHttp(take);
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("connection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
    });
  }

  /** The certificate; undefined for plain HTTP. */
  get certificate(): Certificate | undefined {
    return this.#certificate;
  }

  /** Presents another certificate on new connections. */
  useCertificate(certificate: Certificate): void {
    if (!(this.#server instanceof HttpsServer)) throw new Error("plain HTTP has no certificate");
    this.#server.setSecureContext(certificate);
    this.#certificate = certificate;
  }

  get host(): string {
    return this.#host;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    const host = this.#host.includes(":") ? `[${this.#host}]` : this.#host;
    return `${this.certificate ? "https" : "http"}://${host}:${this.#port}`;
  }

  /** The SHA-256 fingerprint of the certificate in the form of a connection's `tls.fingerprint`. */
  get fingerprint(): string {
    if (!this.certificate) throw new Error("plain HTTP has no certificate");
    return fingerprintOf(this.certificate);
  }

  /** Listens. Port 0 takes a free one. Rejects if the address is unavailable. */
  async listen(port: number, host: string): Promise<void> {
    this.#host = host;
    await listenOn(port, async (free) => {
      await once(this.#server.listen(free, host), "listening");
      this.#port = free;
    });
  }

  /** Stops listening and closes every connection. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function certificateOf(tls: WebServerTls): Certificate | undefined {
  if (tls === "http") return undefined;
  const altNames = ["127.0.0.1", "::1", "localhost"];
  // Longer than the period for which a check warns.
  return (
    tls ?? createCertificate({ commonName: "simulator", altNames, notAfter: new Date(Date.now() + YEAR_MS) })
  );
}
