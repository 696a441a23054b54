import { INPUT_BYTES } from "../../../../shared/input-limits.ts";

/**
 * Limits of calls in progress, in total and for streaming methods, per connection and for all connections with the same
 * trust.
 */
interface CallLimits {
  readonly calls: number;
  readonly streaming: number;
  readonly callsOfAll: number;
  readonly streamingOfAll: number;
}

/** Limits per client and connection. */
export interface ListenerLimits {
  /** The maximum number of connections. Above it one is closed, beginning with those without an accepted call. */
  readonly connections: number;
  /** The maximum number of calls in progress per connection; HTTP/1.1 has one. */
  readonly streams: number;
  /** Limits of connections with an accepted call. */
  readonly accepted: CallLimits;
  /** Limits of other connections: anyone can open one, and calls of the health service need no credentials. */
  readonly strangers: CallLimits;
  readonly headerBytes: number;
  /** The maximum size of a request message, before and after decompression. */
  readonly messageBytes: number;
  /** Time for the TLS handshake and the headers of the first request together. */
  readonly headersTimeoutMs: number;
  /** Time for the body of a request, unless the method streams requests. */
  readonly bodyTimeoutMs: number;
  /** Time for a whole call, unless the method streams. */
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
