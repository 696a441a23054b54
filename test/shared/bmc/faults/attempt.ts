import { expect } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";

/** Far above what any of these operations may take, scaled waits included; one that hangs is cut off here. */
const DEADLINE_MS = 60_000;

export type Ended<T> = { readonly value: T; readonly error?: never } | { readonly error: BmcError };

/** Runs an operation to its own end, good or bad. Fails the test when it hangs, or throws anything untyped. */
export async function attempt<T>(run: (signal: AbortSignal) => Promise<T>): Promise<Ended<T>> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  let ended: Ended<T>;
  try {
    ended = { value: await run(signal) };
  } catch (error) {
    if (!(error instanceof BmcError)) throw error;
    ended = { error };
  }
  expect(signal.aborted, "the operation continued past its deadline").toBe(false);
  return ended;
}

/** The value of an operation that must succeed. */
export async function succeed<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = await attempt(run);
  if (ended.error) throw ended.error;
  return ended.value;
}

/** The error of an operation that must fail. */
export async function fail(run: (signal: AbortSignal) => Promise<unknown>): Promise<BmcError> {
  const ended = await attempt(run);
  if (!ended.error) throw new Error(`it succeeded: ${JSON.stringify(ended.value)}`);
  return ended.error;
}

/** Waits until `condition` holds; fails the test when it never does. */
export async function eventually(condition: () => boolean): Promise<void> {
  const endMs = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error("the condition never came true");
    await systemClock.sleep(5);
  }
}

export const OFF = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 60_000 } as const;
export const ON = { verb: "on", timeoutMs: 60_000 } as const;
export const RESET = { verb: "reset", onIfOff: false, timeoutMs: 60_000 } as const;
export const PXE_ONCE = { device: "pxe", persistent: false, mode: "uefi" } as const;
