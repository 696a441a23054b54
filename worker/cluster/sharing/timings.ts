/** How long what takes in the sharing of lanes. The first three are those of client-go's leader election. */
export interface Timings {
  /** A member whose Lease has not changed for that long, by the clock of whoever looks, is taken for dead. */
  readonly leaseDurationMs: number;
  /** A member that could not renew for that long asks for nothing more; the rest up to `leaseDurationMs` is its margin. */
  readonly renewDeadlineMs: number;
  readonly renewIntervalMs: number;
  /** For one answer: two of them and a pause fit between a renewal and the deadline. */
  readonly requestTimeoutMs: number;
  readonly retryMs: number;
  /** Joining members are counted when nobody else has joined for that long... */
  readonly joinDebounceMs: number;
  /** ...or the first of them has waited for that long: a rollout is shared out once, not once a replica. */
  readonly joinMaxWaitMs: number;
  /** For giving everything up at the end. */
  readonly stopMs: number;
}

export const TIMINGS: Timings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewIntervalMs: 5_000,
  requestTimeoutMs: 2_000,
  retryMs: 500,
  joinDebounceMs: 2_000,
  joinMaxWaitMs: 10_000,
  stopMs: 5_000,
};
