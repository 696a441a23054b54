import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import type { LogFields } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { fieldsOf } from "../core/action/action.ts";
import type { ReturnedAction } from "../core/ports/runtime.ts";
import { launchName } from "./launch-name.ts";

/** The container or Job that an earlier worker launched. */
export interface Launched<T> {
  find(name: string, signal: AbortSignal): Promise<T | undefined>;
  isOf(action: ReturnedAction["action"], found: T): boolean;
  hasStarted(found: T): boolean;
  /** Removes it if it has not started. `gone`: something else removed it, and it may have been started before. */
  remove(found: T): Promise<"removed" | "started" | "gone">;
  logOutage(isFirst: boolean, fields: LogFields): void;
}

/** The engine or cluster may still be starting, for example after a reboot. */
const RETRY: Backoff = { firstMs: 500, maxMs: 10_000 };

/**
 * Finds what was launched for an action; undefined if it started, or may have, and is gone. Retries until engine or cluster responds.
 * Rejects when the signal aborts. The launch is recorded before the start: without a handle it did not start.
 */
export async function findLaunched<T>(
  { action, handle, damaged }: ReturnedAction,
  launched: Launched<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | "never-started" | undefined> {
  for (let attempt = 1; ; attempt++) {
    let found: T | undefined;
    try {
      found = await launched.find(launchName(action), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      launched.logOutage(attempt === 1, { ...fieldsOf(action), error: textOf(thrown) });
      await clock.sleep(backoffMs(RETRY, attempt), signal);
      continue;
    }
    attempt = 0;
    if (!found || !launched.isOf(action, found)) return handle || damaged ? undefined : "never-started";
    if (launched.hasStarted(found)) return found;
    const removed = await launched.remove(found);
    if (removed === "removed") return "never-started";
    if (removed === "gone") return undefined;
  }
}
