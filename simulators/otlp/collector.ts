import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { until } from "../until.ts";
import { type CollectedSpan, spansOfJson } from "./read-json.ts";
import { spansOfProtobuf } from "./read-protobuf.ts";

const WAIT_MS = 60_000;

export interface SeenExport {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** How the collector answers: `hang` never answers. */
export type CollectorMood = "well" | "hang" | number;

/** A collector that accepts traces over OTLP/HTTP, as JSON and protobuf, and keeps everything. */
export class Collector {
  readonly exports: SeenExport[] = [];
  readonly spans: CollectedSpan[] = [];
  mood: CollectorMood = "well";
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  named(name: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  below(parent: CollectedSpan): readonly CollectedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId);
  }

  /** Returns all requests as text, to search it for what must not be sent. */
  everything(): string {
    return this.exports
      .map(({ headers, body }) => JSON.stringify(headers) + body.toString("utf8"))
      .join("\n");
  }

  async until(condition: () => boolean, why: () => string = () => ""): Promise<void> {
    await until(condition, WAIT_MS, () => {
      const names = this.spans.map(({ name }) => name).join(", ");
      return `it never came true; the collector has ${names || "nothing"}\n${why()}`;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    this.exports.push({ path: request.url ?? "", headers: request.headers, body });
    if (this.mood === "hang") return;
    if (this.mood === "well") {
      const isJson = request.headers["content-type"] === "application/json";
      this.spans.push(...(isJson ? spansOfJson(body) : spansOfProtobuf(body)));
      response.writeHead(200, { "Content-Type": request.headers["content-type"] ?? "" });
      response.end(isJson ? "{}" : "");
      return;
    }
    response.writeHead(this.mood).end();
  }
}

export async function startCollector(): Promise<Collector> {
  const collector = new Collector();
  await collector.listen();
  return collector;
}
