import { type IncomingMessage, ServerResponse } from "node:http";
import type { HandleRequest } from "../../simulators/web-server.ts";

/** What a server would have answered. */
export interface HeldAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Lets the server carry the request out and holds its answer; undefined if it closed the connection. */
export function holdAnswer(
  request: IncomingMessage,
  handle: HandleRequest,
  then: (answer: HeldAnswer | undefined) => void,
): void {
  const held = new ServerResponse(request);
  const chunks: string[] = [];
  const take = (chunk: unknown) => {
    if (typeof chunk === "string" || Buffer.isBuffer(chunk)) chunks.push(String(chunk));
  };
  let status = 200;
  let headers: Readonly<Record<string, unknown>> = {};
  Object.assign(held, {
    writeHead(code: number, given: Readonly<Record<string, unknown>> = {}) {
      status = code;
      headers = given;
      return held;
    },
    write(chunk: unknown) {
      take(chunk);
      return true;
    },
    end(chunk: unknown) {
      take(chunk);
      then({ status, headers, body: chunks.join("") });
      return held;
    },
    destroy() {
      then(undefined);
      return held;
    },
  });
  handle(request, held);
}

export function sendHeld(response: ServerResponse, { status, headers, body }: HeldAnswer): void {
  response.writeHead(status, { ...withoutLength(headers), "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

export function withoutLength(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length");
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** Reads a request to its end. */
export function drain(request: IncomingMessage, then: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => then(Buffer.concat(chunks).toString("utf8")));
}
