import { INPUT_BYTES } from "../../../../shared/input-limits.ts";

/** Calls in progress, and of them those of methods that stream: per connection, and of all such connections. */
interface CallLimits {
  readonly calls: number;
  readonly streaming: number;
  readonly callsOfAll: number;
  readonly streamingOfAll: number;
}

/** Limits per client and connection. */
export interface ListenerLimits {
  /** Above this a connection is closed, one without an accepted call first. */
  readonly connections: number;
  /** Calls in progress per connection. HTTP/1.1 has one. */
  readonly streams: number;
  /** On connections with an accepted call. */
  readonly accepted: CallLimits;
  /** On connections without: anyone can open them, and calls of Health need no credentials. */
  readonly strangers: CallLimits;
  readonly headerBytes: number;
  /** Size of one request message, also after decompression. */
  readonly messageBytes: number;
  /** For the TLS handshake and the headers of the first request together. */
  readonly headersTimeoutMs: number;
  /** For the body of a request, unless the method streams requests. */
  readonly bodyTimeoutMs: number;
  /** For a whole call, unless the method streams. */
  readonly callTimeoutMs: number;
  /** How long an HTTP/1.1 connection is kept without a call. */
  readonly keepAliveMs: number;
  /** How long an HTTP/2 connection is kept without a call. */
  readonly idleMs: number;
  /** How long calls in progress may take when the listener closes. */
  readonly drainMs: number;
}

export const LIMITS: ListenerLimits = {
  connections: 256,
  streams: 100,
  accepted: { calls: 100, streaming: 100, callsOfAll: 2_048, streamingOfAll: 512 },
  strangers: { calls: 32, streaming: 2, callsOfAll: 512, streamingOfAll: 64 },
  headerBytes: 16_384,
  messageBytes: INPUT_BYTES.pbnjMessage,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 10_000,
  callTimeoutMs: 300_000,
  keepAliveMs: 5_000,
  idleMs: 300_000,
  drainMs: 2_000,
};
