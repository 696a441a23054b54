import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

/** One unary call that passed, with times of `performance.now`. */
export interface RecordedCall {
  /** Such as `GetAction`. */
  readonly method: string;
  readonly request: Uint8Array;
  /** Empty where the server answered with an error. */
  readonly response: Uint8Array;
  readonly askedMs: number;
  readonly answeredMs: number;
}

/** gRPC's length-prefixed message: one flag, four bytes of length. */
const PREFIX_BYTES = 5;

/**
 * A proxy for unary gRPC calls without TLS that notes when each call came and was answered. A call that the client takes back
 * is taken back from the server as well, and not noted.
 */
export async function startGrpcRecorder(
  target: string,
  onCall: (call: RecordedCall) => void,
  onAsked: (method: string, request: Uint8Array) => void,
): Promise<{ readonly address: string }> {
  const session = connect(`http://${target}`, { settings: { enablePush: false } });
  await once(session, "connect");
  const server = createServer({ settings: { maxConcurrentStreams: 2 ** 31 - 1 } });
  server.on("stream", (stream, headers) => void forward(stream, headers, session, { onCall, onAsked }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function forward(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  session: ClientHttp2Session,
  listener: {
    readonly onCall: (call: RecordedCall) => void;
    readonly onAsked: (method: string, request: Uint8Array) => void;
  },
): Promise<void> {
  const askedMs = performance.now();
  stream.on("error", () => undefined);
  const method = String(headers[":path"]).split("/").at(-1) ?? "";
  const sent = Buffer.concat(await stream.toArray().catch(() => []));
  if (stream.destroyed) return;
  const request = sent.subarray(PREFIX_BYTES);
  listener.onAsked(method, request);
  const { ":authority": _authority, ...rest } = headers;
  const upstream = session.request(rest);
  upstream.on("error", () => stream.close(constants.NGHTTP2_CANCEL));
  stream.on("close", () => upstream.close(constants.NGHTTP2_CANCEL));
  const received: Buffer[] = [];
  upstream.on("response", ({ ":status": status, ...answer }, flags) => {
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (!stream.destroyed)
      stream.respond({ ":status": status, ...answer }, { endStream, waitForTrailers: !endStream });
  });
  upstream.on("data", (chunk: Buffer) => received.push(chunk));
  upstream.on("trailers", (trailers) => {
    const answeredMs = performance.now();
    const response = Buffer.concat(received).subarray(PREFIX_BYTES);
    listener.onCall({ method, request, response, askedMs, answeredMs });
    if (stream.destroyed) return;
    stream.once("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(Buffer.concat(received));
  });
  upstream.end(sent);
}
