import { formatSeconds } from "../../shared/duration.ts";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import type { Check } from "./checks.ts";
import { type Finding, isWrong } from "./finding.ts";

/** How long what was cut short may clean up after itself. */
const CLEAN_UP_MS = 25_000;

/**
 * Runs all checks beside each other and hands on what each found, in their order, as soon as those before it are done.
 * Whatever becomes of one, the others go on. Settles when nothing of them is left; rejects with the signal's reason when that
 * aborts.
 */
export async function runChecks(
  checks: readonly Check[],
  onFound: (findings: readonly Finding[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const works: Promise<unknown>[] = [];
  const found = checks.map((check) => runCheck(check, works, signal));
  // Each is waited for in its turn; until then a rejection must not count as nobody's.
  for (const findings of found) findings.catch(() => undefined);
  try {
    for (const findings of found) onFound(await findings);
  } finally {
    const never = new AbortController().signal;
    const settled = () => Promise.allSettled([...works, ...found]);
    await withTimeout(CLEAN_UP_MS, never, settled).catch(() => undefined);
  }
}

async function runCheck(
  { name, limitMs, run }: Check,
  works: Promise<unknown>[],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const begin = (bound: AbortSignal) => {
    const work = run(bound);
    works.push(work);
    return work;
  };
  try {
    return await (limitMs === undefined ? begin(signal) : withTimeout(limitMs, signal, begin));
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof TimeoutReached) {
      const detail = `no result within ${formatSeconds(thrown.afterMs)}`;
      return [isWrong("too-slow", detail, { check: name })];
    }
    const detail = textOf(thrown);
    return [isWrong("check-failed", detail, { check: name })];
  }
}
