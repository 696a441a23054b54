import type { Timings } from "../../../../worker/cluster/sharing/timings.ts";

export const GROUP = "lab";
/** Shorter than in earnest, in the same proportions. */
export const QUICK: Timings = {
  leaseDurationMs: 3_000,
  renewDeadlineMs: 2_000,
  renewIntervalMs: 400,
  requestTimeoutMs: 1_000,
  lateMs: 2_000,
  retryMs: 100,
  joinDebounceMs: 200,
  joinMaxWaitMs: 1_000,
  stopMs: 3_000,
};
