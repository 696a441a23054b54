import type { ServerResponse } from "node:http";
import type { ApiFailure } from "../api/failure.ts";
import type { JsonObject } from "../api/object.ts";

export function sendJson(
  response: ServerResponse,
  status: number,
  body: JsonObject,
  warnings: readonly string[] = [],
): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
    ...(warnings.length > 0
      ? { Warning: warnings.map((warning) => `299 - ${JSON.stringify(warning)}`) }
      : {}),
  });
  response.end(text);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}

export function sendFailure(response: ServerResponse, failure: ApiFailure): void {
  const seconds = failure.details?.retryAfterSeconds;
  if (seconds !== undefined) response.setHeader("Retry-After", String(seconds));
  sendJson(response, failure.code, failure.toStatus());
}
