import type { Clock } from "../clock.ts";
import { formatSeconds } from "../duration.ts";
import { BmcError } from "./errors.ts";
import type { BmcResetKind } from "./provider.ts";

export interface ManagerResetReport {
  readonly changed: true;
  readonly summary: string;
}

/** The BMC itself; what `resetManager` needs and no more. */
export interface ManagerPort {
  readonly clock: Clock;
  reset(): Promise<void>;
  /** Resolves when the BMC answers. */
  probe(): Promise<unknown>;
  /** Gives up the session that the restart ends. */
  drop(): Promise<void>;
  sleep(ms: number): Promise<void>;
}

/** BMCs answer for some seconds before they go down: what answers sooner is the old one. */
const GOES_DOWN_MS = 10_000;
const PAUSE_MS = 5_000;

/** Restarts the BMC and waits until it answers again, for `timeoutMs` at most. */
export async function resetManager(
  port: ManagerPort,
  kind: BmcResetKind,
  timeoutMs: number,
): Promise<ManagerResetReport> {
  const startedMs = port.clock.monotonicMs();
  const elapsedMs = () => port.clock.monotonicMs() - startedMs;
  try {
    await port.reset();
  } catch (thrown) {
    // A BMC that restarts at once takes its answer with it.
    if (!BmcError.from(thrown).uncertain) throw thrown;
  }
  await port.drop().catch(() => undefined);
  await port.sleep(Math.min(GOES_DOWN_MS, timeoutMs));
  for (;;) {
    try {
      await port.probe();
      return {
        changed: true,
        summary: `BMC reset (${kind}), answers again after ${formatSeconds(elapsedMs())}`,
      };
    } catch (thrown) {
      const error = BmcError.from(thrown);
      if (["cancelled", "auth", "tls", "usage"].includes(error.class)) throw error;
      if (elapsedMs() + PAUSE_MS > timeoutMs) {
        const text = `the BMC took the reset and does not answer after ${formatSeconds(elapsedMs())}`;
        throw new BmcError("timeout", `${text}: ${error.message}`, { cause: error });
      }
      await port.sleep(PAUSE_MS);
    }
  }
}
