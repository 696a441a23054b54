/** Limits per client and connection. */
export interface ListenerLimits {
  /** Above this a connection is closed, one without an accepted call first. */
  readonly connections: number;
  /** Calls in progress per connection. HTTP/1.1 has one. */
  readonly streams: number;
  readonly headerBytes: number;
  /** Of one request message, also decompressed. */
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
  headerBytes: 16_384,
  messageBytes: 65_536,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 10_000,
  callTimeoutMs: 300_000,
  keepAliveMs: 5_000,
  idleMs: 300_000,
  drainMs: 2_000,
};
