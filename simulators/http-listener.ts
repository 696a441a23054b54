import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { WebServer, type WebServerTls } from "./web-server.ts";

export interface HttpListenerOptions {
  readonly tls?: WebServerTls;
  readonly host?: string;
  /** The port; 0 takes a free one. */
  readonly port?: number;
  /** The delay that is added to every answer. */
  readonly latencyMs?: number;
}

/** A request as it was received. */
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
  /** Whether to send the body in chunks, without its length. */
  readonly chunked?: true;
  /** The delay before the answer. */
  readonly delayMs?: number;
  /** Whether to close the connection instead of answering. */
  readonly drops?: true;
}

/**
 * A fault of an answer: the connection closes before or after the request is carried out, no answer is sent, or the answer
 * is cut off.
 */
export type AnswerFault = "close-before" | "close-after" | "silent" | "truncated";

/** An HTTP or HTTPS server on a real socket that passes complete requests to `answer` and records them. */
export class HttpListener extends WebServer {
  readonly requests: SeenRequest[] = [];
  latencyMs: number;
  readonly #faults: AnswerFault[] = [];
  readonly #answer: (request: SeenRequest) => Reply;
  readonly #host: string;

  constructor(options: HttpListenerOptions, answer: (request: SeenRequest) => Reply) {
    super(options.tls, (request, response) => void this.#handle(request, response));
    this.#answer = answer;
    this.#host = options.host ?? "127.0.0.1";
    this.latencyMs = options.latencyMs ?? 0;
  }

  /** Applies a fault to the next answer. */
  fail(fault: AnswerFault): void {
    this.#faults.push(fault);
  }

  /** Listens at the host of the options. */
  override listen(port = 0): Promise<void> {
    return super.listen(port, this.#host);
  }

  close(): Promise<void> {
    return this.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
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
      if (this.latencyMs > 0) await setTimeout(this.latencyMs);
      const fault = this.#faults.shift();
      if (fault === "close-before") {
        response.destroy();
        return;
      }
      const reply = this.#answer(seen);
      if (reply.delayMs) await setTimeout(reply.delayMs);
      deliver(response, reply, reply.drops ? "close-after" : fault);
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
