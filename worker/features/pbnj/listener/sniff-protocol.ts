import type { Socket } from "node:net";

/** The start of an HTTP/2 connection with prior knowledge (RFC 9113 section 3.4). No HTTP/1.1 request starts with it. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Calls back once a plaintext connection has sent enough to tell HTTP/2 from HTTP/1.1. What was read is put back. The caller
 * sets the deadline.
 */
export function sniffProtocol(socket: Socket, found: (protocol: "http1" | "http2") => void): void {
  let seen = Buffer.alloc(0);
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = Buffer.concat([seen, chunk]);
    const compared = Math.min(seen.length, PREFACE.length);
    const agrees = seen.subarray(0, compared).equals(PREFACE.subarray(0, compared));
    if (agrees && seen.length < PREFACE.length) return;
    socket.off("readable", onReadable);
    socket.unshift(seen);
    found(agrees ? "http2" : "http1");
  };
  socket.on("readable", onReadable);
}
