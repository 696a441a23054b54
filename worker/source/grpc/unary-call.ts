import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { constants } from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  contentTypeProto,
  headerContentType,
  headerGrpcStatus,
  headerTimeout,
  headerUserAgent,
  validateResponse,
  validateTrailer,
} from "@connectrpc/connect/protocol-grpc";
import { version } from "../../../shared/version.ts";
import type { Channel } from "./channel.ts";

export interface UnaryCallOptions {
  /** Ends the call at once; it rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Sent to the server, which times out as well. The caller measures the time itself. */
  readonly timeoutMs: number;
  /** A larger answer fails the call. */
  readonly readMaxBytes: number;
}

/** A flag for compression and the length of the message, before each message (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5;

/**
 * One unary gRPC call on a channel, for calls that are held by the thousand: it needs a third of the memory of a call
 * through a Connect client. Rejects with a `ConnectError`, or with the signal's reason.
 */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  channel: Channel,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  { signal, timeoutMs, readMaxBytes }: UnaryCallOptions,
): Promise<MessageShape<O>> {
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
  const message = messageOf(await answer);
  channel.notifyResponseByteRead(stream);
  try {
    return fromBinary(method.output, message);
  } catch (thrown) {
    throw new ConnectError("the answer cannot be read", Code.Internal, undefined, undefined, thrown);
  }
}

export interface Answer {
  readonly status: number;
  readonly header: IncomingHttpHeaders;
  readonly trailer: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Resolves when the stream has ended without an error, whatever gRPC status it has. */
function answerOf(stream: ClientHttp2Stream, signal: AbortSignal, readMaxBytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    let header: IncomingHttpHeaders = {};
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
      status = fields[":status"];
      header = fields;
    });
    stream.on("trailers", (fields) => {
      trailer = fields;
    });
    stream.on("data", (chunk: Buffer) => {
      if (chunk.length === 0) return;
      chunks.push(chunk);
      received += chunk.length;
      if (prefix.length < PREFIX_BYTES) prefix = Buffer.concat([prefix, chunk.subarray(0, PREFIX_BYTES)]);
      // The announced length counts as well: the worker would wait for a server that never sends it.
      const announced = prefix.length < PREFIX_BYTES ? 0 : prefix.readUInt32BE(1);
      if (Math.max(announced, received - PREFIX_BYTES) <= readMaxBytes) return;
      cancel(new ConnectError(`an answer of more than ${readMaxBytes} bytes`, Code.ResourceExhausted));
    });
    // When a connection is lost, Node invents the code; the connection's own error is right.
    stream.on("error", (error) => {
      const reset = error instanceof ConnectError ? undefined : resetError(stream.rstCode);
      fail(reset ?? networkError(error));
    });
    stream.on("close", () => {
      signal.removeEventListener("abort", onAbort);
      const reset = resetError(stream.rstCode);
      if (reset) reject(reset);
      else if (status === undefined) {
        reject(new ConnectError("the server ended the stream without an answer", Code.Unavailable));
      } else resolve({ status, header, trailer, body: Buffer.concat(chunks) });
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

/** The one message of an answer. Throws the server's error status as a `ConnectError`. */
export function messageOf({ status, header, trailer, body }: Answer): Uint8Array {
  const headers = webHeaders(header);
  const { headerError } = validateResponse(status, headers);
  if (headerError) throw headerError;
  const trailers = webHeaders(trailer);
  validateTrailer(trailers, headers);
  if (body.length < PREFIX_BYTES) {
    const code = trailers.has(headerGrpcStatus) ? Code.Unimplemented : Code.Unknown;
    throw new ConnectError("an answer without a message", code);
  }
  if (body[0] !== 0) throw new ConnectError("a compressed answer, not asked for", Code.Internal);
  const length = body.readUInt32BE(1);
  const message = body.subarray(PREFIX_BYTES);
  if (message.length > length) throw new ConnectError("more than one message", Code.Unimplemented);
  if (message.length < length) throw new ConnectError("half a message", Code.DataLoss);
  return message;
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

/** A connection that cannot be opened, or was lost, may work on the next attempt. */
function networkError(thrown: unknown): ConnectError {
  return thrown instanceof ConnectError ? thrown : ConnectError.from(thrown, Code.Unavailable);
}
