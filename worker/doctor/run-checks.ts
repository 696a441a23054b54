import { formatSeconds } from "../../shared/duration.ts";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import { type Finding, findingOf } from "../findings/finding.ts";
import type { Check } from "./checks.ts";

/** Time for aborted checks to clean up. */
const CLEAN_UP_MS = 25_000;

/**
 * Runs all checks concurrently and passes on the findings in the order of the checks, as soon as possible. A failing check
 * does not affect the others. Settles when all checks have; rejects with the signal's reason when it aborts.
 */
export async function runChecks(
  checks: readonly Check[],
  onFound: (findings: readonly Finding[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const works: Promise<unknown>[] = [];
  const found = checks.map((check) => runCheck(check, works, signal));
  // The findings are awaited one after the other. A rejection before that must not count as unhandled.
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
      return [findingOf("too-slow", detail, { check: name })];
    }
    const detail = textOf(thrown);
    return [findingOf("check-failed", detail, { check: name })];
  }
}
