/** Timings of lane sharing. The first three are those of client-go's leader election. */
export interface Timings {
  /** A member whose Lease has not changed for that long, by the observer's clock, counts as dead. */
  readonly leaseDurationMs: number;
  /** A member that could not renew for that long stops polling; the rest up to `leaseDurationMs` is its margin. */
  readonly renewDeadlineMs: number;
  readonly renewIntervalMs: number;
  /** For one response: two of them and a pause fit between a renewal and the deadline. */
  readonly requestTimeoutMs: number;
  /** By then the API server has carried out a request that got no answer, or never will: it queues one for at most 15 s. */
  readonly lateMs: number;
  readonly retryMs: number;
  /** New members count when no other has joined for that long... */
  readonly joinDebounceMs: number;
  /** ...or the first of them has waited for that long: a rollout causes one rebalancing. */
  readonly joinMaxWaitMs: number;
  readonly stopMs: number;
}

export const TIMINGS: Timings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewIntervalMs: 5_000,
  requestTimeoutMs: 2_000,
  lateMs: 20_000,
  retryMs: 500,
  joinDebounceMs: 2_000,
  joinMaxWaitMs: 10_000,
  stopMs: 5_000,
};
