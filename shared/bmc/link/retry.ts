import { type Backoff, backoffMs } from "../../backoff.ts";
import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import type { Logger } from "../../logger.ts";

/** Which failures are retried, how often, and after which pause. */
export interface RetryRule {
  readonly classes: ReadonlySet<ErrorClass>;
  readonly attempts: number;
  /** Number of attempts if the BMC answers that it is not ready. Default: `attempts`. */
  readonly busyAttempts?: number;
  /** How long to retry if the BMC answers that it is not ready. Default: `busyAttempts` decides. */
  readonly busyMs?: number;
  /** Number of attempts of a read whose answer is one that BMCs give only briefly. Default: 1. */
  readonly transientAttempts?: number;
  readonly backoff: Backoff;
}

/** The longest `Retry-After` that is respected, in milliseconds. */
const LONGEST_WAIT_MS = 60_000;

/** A few seconds with the backoff of reads: BMCs that are starting answer with 500, half a body or 0xFF for this long. */
const TRANSIENT_ATTEMPTS = 5;

/** Reads change nothing, so they are repeated after a lost answer and while the BMC is busy. */
export const READ_RETRY: RetryRule = {
  classes: new Set<ErrorClass>(["busy", "unreachable", "timeout"]),
  attempts: 4,
  busyAttempts: 6,
  transientAttempts: TRANSIENT_ATTEMPTS,
  backoff: { firstMs: 500, maxMs: 5_000, jitter: 0.2 },
};

/**
 * A write that a busy BMC has refused is sent again; anything else is left to the caller. Some BMCs refuse for minutes:
 * after a power-off, or during POST.
 */
export const WRITE_RETRY: RetryRule = {
  classes: new Set<ErrorClass>(["busy"]),
  attempts: 1,
  busyMs: 120_000,
  backoff: { firstMs: 1_000, maxMs: 10_000, jitter: 0.2 },
};
/** The rule for opening an additional session that changes nothing, such as a console. */
export const SESSION_RETRY: RetryRule = {
  classes: WRITE_RETRY.classes,
  attempts: 6,
  backoff: WRITE_RETRY.backoff,
};

/**
 * The rule for opening a session, because the BMC may be restarting. A timeout has already taken its whole time, so it is
 * not repeated.
 */
export const OPEN_RETRY: RetryRule = {
  classes: new Set<ErrorClass>(["busy", "unreachable"]),
  attempts: 3,
  busyAttempts: 6,
  transientAttempts: TRANSIENT_ATTEMPTS,
  backoff: { firstMs: 500, maxMs: 2_000, jitter: 0.2 },
};

/** The rule for a single poll, and for a read after a change; their callers repeat them. */
export const LOOK_RETRY: RetryRule = { ...READ_RETRY, transientAttempts: 1 };

/** The rule for a read after an accepted change: BMCs may answer anything while they restart or carry it out. */
export const AFTER_CHANGE = {
  limitMs: 60_000,
  backoff: { firstMs: 500, maxMs: 5_000, jitter: 0.2 },
} as const satisfies { readonly limitMs: number; readonly backoff: Backoff };

/** Pause before a login is repeated that was refused after a change. */
export const LOGIN_RECHECK_MS = 5_000;

/** The rule for finding out whether the BMC is present: silence counts as an answer. */
export function ifBusy(rule: RetryRule): RetryRule {
  return { ...rule, classes: new Set<ErrorClass>(["busy"]) };
}

function attemptsOf(
  { classes, attempts, busyAttempts, transientAttempts = 1 }: RetryRule,
  error: BmcError,
): number {
  const most = error.class === "busy" ? (busyAttempts ?? attempts) : attempts;
  return Math.max(classes.has(error.class) ? most : 1, error.transient ? transientAttempts : 1);
}

/**
 * Runs `attempt` under `rule`; for a locked machine, until the signal aborts. If the BMC gives a time to wait, it is
 * respected. `instead` is called before each repetition; a value that it returns is the result.
 */
export async function retrying<T>(
  rule: RetryRule,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
  attempt: () => Promise<T>,
  instead?: () => Promise<{ readonly result: T } | undefined>,
): Promise<T> {
  const { busyMs } = rule;
  const startedMs = clock.monotonicMs();
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      const leftMs =
        busyMs === undefined || error.class !== "busy"
          ? undefined
          : busyMs - (clock.monotonicMs() - startedMs);
      const isOver = leftMs === undefined ? number >= attemptsOf(rule, error) : leftMs <= 0;
      if (error.uncertain || (isOver && !error.locked)) throw error;
      const askedMs = Math.max(
        backoffMs(rule.backoff, number),
        Math.min(error.retryAfterMs ?? 0, LONGEST_WAIT_MS),
      );
      const waitMs = error.locked ? askedMs : Math.min(askedMs, leftMs ?? askedMs);
      log.info(
        { class: error.class, reason: error.message, attempt: number, waitMs },
        "BMC call failed, retrying",
      );
      await clock.sleep(waitMs, signal);
      const found = await instead?.();
      if (found) return found.result;
    }
  }
}
