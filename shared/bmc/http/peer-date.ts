import type { Socket } from "node:net";
import { authority, type Endpoint } from "./endpoint.ts";

const WAIT_MS = 2_000;
const MOST_BYTES = 16_384;

/**
 * Asks a peer for its time with a request that has no credentials and changes nothing. Calls back once with milliseconds since
 * the epoch; undefined if the peer does not say. The caller owns the socket, which cannot be used afterwards.
 */
export function askDate(
  socket: Socket,
  endpoint: Pick<Endpoint, "host" | "port">,
  callback: (ms: number | undefined) => void,
): void {
  let text = "";
  const end = (ms?: number) => {
    clearTimeout(timer);
    for (const event of ["data", "close", "error"]) socket.removeAllListeners(event);
    // An error after the answer has no meaning.
    socket.on("error", () => undefined);
    callback(ms);
  };
  const timer = setTimeout(end, WAIT_MS);
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    const isComplete = text.includes("\r\n\r\n") || text.length > MOST_BYTES;
    if (isComplete) end(dateIn(text));
  });
  socket.on("close", () => end());
  socket.on("error", () => end());
  socket.write(`HEAD / HTTP/1.1\r\nHost: ${authority(endpoint)}\r\nConnection: close\r\n\r\n`);
}

function dateIn(text: string): number | undefined {
  const [, date] = /^date:[ \t]*([^\r\n]{1,64})\r?$/im.exec(text.slice(0, MOST_BYTES)) ?? [];
  const ms = Date.parse(date ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
