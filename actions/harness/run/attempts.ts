import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { progressFields } from "../../../shared/contract/progress.ts";
import { shortened } from "../../../shared/printable.ts";
import type { InputFields } from "../input/input.ts";
import { type Attempt, type AttemptOptions, attemptOnce } from "./attempt.ts";

/** Failures that may not occur again in another attempt. A refused login is never repeated, because accounts lock. */
const MAY_PASS: ReadonlySet<ErrorClass> = new Set<ErrorClass>([
  "unreachable",
  "busy",
  "timeout",
  "verify",
  "protocol",
  "bmc",
]);

/**
 * The backoff between attempts. An attempt itself retries what passes within seconds; a BMC that restarts takes a minute or
 * more.
 */
const BACKOFF: Backoff = { firstMs: 10_000, maxMs: 60_000, jitter: 0.2 };

/**
 * The number of characters of an earlier attempt's reason in the message, which is one line and begins with the last
 * attempt.
 */
const LONGEST_REASON = 200;

export interface Attempts {
  /** The attempts in order; at least one. */
  readonly made: readonly [Attempt, ...Attempt[]];
  readonly last: Attempt;
  /** Extends the message of the result with all attempts. Undefined without retries. */
  readonly describe: ((message: string) => string) | undefined;
}

/**
 * Runs an action, and again after a failure that may pass, up to `RETRIES` times. All attempts share the action's timeout
 * and run one after the other. Each has its own client, so that it reads the state before it sends anything.
 */
export async function runAttempts<Fields extends InputFields>(
  options: AttemptOptions<Fields>,
): Promise<Attempts> {
  const { input, redact, signal } = options;
  const { retries, timeout } = input.common;
  const { clock, log } = options.clients;
  const most = retries + 1;
  const startedMs = clock.monotonicMs();
  const made: [Attempt, ...Attempt[]] = [await attemptOnce(options, timeout)];
  let last = made[0];
  if (retries === 0) return { made, last, describe: undefined };
  const reasons: string[] = [];
  // Redacted before it is cut, because a part of a secret would not be recognized.
  const short = ({ message }: BmcError) => shortened(redact(message), LONGEST_REASON);
  for (let attempt = 1; ; attempt += 1) {
    const { error } = last;
    if (!error) {
      log.info({ lastAttempt: attempt, attempts: most }, "attempt succeeded");
      return { made, last, describe: (message) => `${message}${succeededAt(attempt, most, reasons)}` };
    }
    const why = { class: error.class, reason: error.message };
    const waitMs = backoffMs(BACKOFF, attempt);
    const leftMs = timeout - (clock.monotonicMs() - startedMs);
    const end = attempt === most ? "" : unrepeatable(error, signal, waitMs < leftMs);
    if (end !== undefined) {
      log.warn({ lastAttempt: attempt, attempts: most, ...why }, "attempt failed");
      const before = reasonsText(reasons, short(error));
      return {
        made,
        last,
        describe: (message) => `attempt ${attempt} of ${most}: ${message}${end}${before}`,
      };
    }
    reasons.push(short(error));
    log.warn({ attempt, attempts: most, ...why, waitMs }, "attempt failed, retrying");
    log.info(progressFields(waitMs), `waiting for attempt ${attempt + 1} of ${most}`);
    try {
      await clock.sleep(waitMs, signal);
    } catch {
      last = { ...last, error: BmcError.ofAbort(signal) };
      const text = `, before attempt ${attempt + 1} of ${most}${reasonsText(reasons)}`;
      return { made, last, describe: (message) => message + text };
    }
    last = await attemptOnce(options, timeout - (clock.monotonicMs() - startedMs));
    made.push(last);
  }
}

/**
 * Returns why a failed action is not repeated, for the message; empty if the message already says it. Returns undefined if
 * the action may run again.
 */
function unrepeatable(error: BmcError, signal: AbortSignal, hasTime: boolean): string | undefined {
  if (signal.aborted) return "";
  if (!MAY_PASS.has(error.class))
    return `; not repeated, because a failure of class ${error.class} does not pass`;
  // Only reading the machine's state can tell what the BMC did.
  if (error.uncertain) return "; not repeated, because the BMC may have carried it out";
  return hasTime ? undefined : "; not repeated, because the time is over";
}

function succeededAt(attempt: number, most: number, reasons: readonly string[]): string {
  return attempt === 1 ? "" : `; succeeded at attempt ${attempt} of ${most}${reasonsText(reasons)}`;
}

/**
 * Formats the reasons of earlier attempts, ` (1, 2: redfish: connection refused; 3: …)`: each reason once, without the last
 * attempt's.
 */
function reasonsText(reasons: readonly string[], last?: string): string {
  if (reasons.length === 0) return "";
  const numbered = reasons.map((reason, index) => ({ reason, number: index + 1 }));
  const groups = Map.groupBy(numbered, ({ reason }) => reason);
  const texts = [...groups].map(([reason, same]) => {
    const numbers = same.map(({ number }) => number).join(", ");
    return `${numbers}: ${reason === last ? "the same" : reason}`;
  });
  return ` (${texts.join("; ")})`;
}
