import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { constants } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  contentTypeProto,
  findTrailerError,
  headerContentType,
  headerTimeout,
  headerUserAgent,
  validateResponse,
  validateTrailer,
} from "@connectrpc/connect/protocol-grpc";
import { version } from "../../../shared/version.ts";
import type { Channel } from "./channel.ts";

export interface CallOptions {
  /** Ends the call at once; it rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Sent to the server, which times out as well. The caller must enforce it itself. */
  readonly timeoutMs: number;
  /** A larger answer fails the call. */
  readonly readMaxBytes: number;
}

/** A flag for compression and the length of the message, before each message (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5;

/**
 * Makes one unary gRPC call on a channel. Thousands of calls may be held at a time: each takes 6.5 KiB of heap, and one of a Connect
 * client 16.4 KiB. Rejects with a `ConnectError`, or with the signal's reason.
 */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  channel: Channel,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  options: CallOptions,
): Promise<MessageShape<O>> {
  const [message, second] = await call(channel, method, input, options);
  if (message === undefined) throw new ConnectError("an answer without a message", Code.Unimplemented);
  if (second !== undefined) throw new ConnectError("more than one message", Code.Unimplemented);
  return message;
}

/**
 * Calls a method that answers with any number of messages. Resolves to all of them when the answer has ended. Rejects like
 * `callUnary`.
 */
export async function callStreaming<I extends DescMessage, O extends DescMessage>(
  channel: Channel,
  method: DescMethodServerStreaming<I, O>,
  input: MessageInitShape<I>,
  options: CallOptions,
): Promise<readonly MessageShape<O>[]> {
  return [...(await call(channel, method, input, options))];
}

async function call<I extends DescMessage, O extends DescMessage>(
  channel: Channel,
  method: DescMethodUnary<I, O> | DescMethodServerStreaming<I, O>,
  input: MessageInitShape<I>,
  { signal, timeoutMs, readMaxBytes }: CallOptions,
): Promise<Iterable<MessageShape<O>>> {
  signal.throwIfAborted();
  let stream: ClientHttp2Stream;
  try {
    stream = await channel.request("POST", `/${method.parent.typeName}/${method.name}`, {
      [headerContentType]: contentTypeProto,
      [headerUserAgent]: `pbnj-worker/${version}`,
      [headerTimeout]: `${timeoutMs}m`,
      // Proxies that drop trailers fail early (gRPC over HTTP/2, Requests).
      te: "trailers",
    });
  } catch (thrown) {
    throw networkError(thrown);
  }
  const answer = answerOf(stream, signal, readMaxBytes);
  stream.end(enveloped(toBinary(method.input, create(method.input, input))));
  const answered = await answer;
  channel.notifyResponseByteRead(stream);
  return messagesOf(answered, method.output);
}

export interface Answer {
  readonly headers: Headers;
  readonly trailer: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Resolves when the stream has ended without an error, whatever gRPC status it has. */
function answerOf(stream: ClientHttp2Stream, signal: AbortSignal, readMaxBytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let headers: Headers | undefined;
    let trailer: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let prefix: Buffer = Buffer.alloc(0);
    let received = 0;
    const fail = (reason: unknown) => {
      signal.removeEventListener("abort", onAbort);
      reject(reason);
    };
    const cancel = (reason: unknown) => {
      stream.close(constants.NGHTTP2_CANCEL);
      fail(reason);
    };
    const onAbort = () => cancel(signal.reason);
    stream.on("response", (fields) => {
      try {
        headers = webHeaders(fields);
        // The page of a proxy is not a message: its first bytes are not a length.
        validateResponse(fields[":status"] ?? 0, headers);
      } catch (thrown) {
        cancel(thrown);
      }
    });
    stream.on("trailers", (fields) => {
      trailer = fields;
    });
    stream.on("data", (chunk: Buffer) => {
      if (chunk.length === 0) return;
      chunks.push(chunk);
      received += chunk.length;
      if (prefix.length < PREFIX_BYTES) prefix = Buffer.concat([prefix, chunk.subarray(0, PREFIX_BYTES)]);
      // The announced length counts as well; otherwise the worker would wait for a server that never sends it.
      const announced = prefix.length < PREFIX_BYTES ? 0 : prefix.readUInt32BE(1);
      if (Math.max(announced, received - PREFIX_BYTES) <= readMaxBytes) return;
      cancel(new ConnectError(`an answer of more than ${readMaxBytes} bytes`, Code.ResourceExhausted));
    });
    // When a connection is lost, Node invents a code. The connection's own error is right.
    stream.on("error", (error) => {
      const reset = error instanceof ConnectError ? undefined : resetError(stream.rstCode);
      fail(reset ?? networkError(error));
    });
    stream.on("close", () => {
      signal.removeEventListener("abort", onAbort);
      const reset = resetError(stream.rstCode);
      if (reset) reject(reset);
      else if (headers === undefined) {
        reject(new ConnectError("the server ended the stream without an answer", Code.Unavailable));
      } else resolve({ headers, trailer, body: Buffer.concat(chunks) });
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

/** The messages of an answer. Throws a `ConnectError` with the server's status, or because they cannot be read. */
export function* messagesOf<O extends DescMessage>(
  { headers, trailer, body }: Answer,
  schema: O,
): Generator<MessageShape<O>> {
  // A server that fails at once may send the status in the header (gRPC over HTTP/2, Trailers-Only).
  const error = findTrailerError(headers);
  if (error) throw error;
  validateTrailer(webHeaders(trailer), headers);
  let rest = body;
  while (rest.length > 0) {
    if (rest[0] !== 0) throw new ConnectError("a compressed answer, not asked for", Code.Internal);
    const end = PREFIX_BYTES + (rest.length < PREFIX_BYTES ? 0 : rest.readUInt32BE(1));
    if (rest.length < end) throw new ConnectError("half a message", Code.DataLoss);
    yield readMessage(rest.subarray(PREFIX_BYTES, end), schema);
    rest = rest.subarray(end);
  }
}

function readMessage<O extends DescMessage>(bytes: Uint8Array, schema: O): MessageShape<O> {
  try {
    return fromBinary(schema, bytes);
  } catch (thrown) {
    throw new ConnectError("the answer cannot be read", Code.Internal, undefined, undefined, thrown);
  }
}

function enveloped(message: Uint8Array): Uint8Array {
  const envelope = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(envelope.buffer).setUint32(1, message.length);
  envelope.set(message, PREFIX_BYTES);
  return envelope;
}

function webHeaders(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  return headers;
}

/** The error of a stream's reset code (gRPC over HTTP/2, Errors); undefined if there is none. */
function resetError(rstCode: number | undefined): ConnectError | undefined {
  switch (rstCode) {
    case undefined:
    case constants.NGHTTP2_NO_ERROR:
      return undefined;
    case constants.NGHTTP2_REFUSED_STREAM:
      return new ConnectError("the server refused the stream", Code.Unavailable);
    case constants.NGHTTP2_CANCEL:
      return new ConnectError("the server cancelled the stream", Code.Canceled);
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new ConnectError("the server is asked too much", Code.ResourceExhausted);
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return new ConnectError("the connection is not secure enough for the server", Code.PermissionDenied);
    default:
      return new ConnectError(`the server reset the stream with code ${rstCode}`, Code.Internal);
  }
}

/** The error of a connection that cannot be opened or was lost. The next attempt may succeed. */
function networkError(thrown: unknown): ConnectError {
  return thrown instanceof ConnectError ? thrown : ConnectError.from(thrown, Code.Unavailable);
}
