import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";

/** A BMC's task as it was read. `gone`: the BMC does not know it any more, as after a restart. */
export interface OperationTask {
  readonly state: "running" | "done" | "gone" | "staged" | "failed";
  readonly percent?: number;
  /** The BMC's last words. */
  readonly message?: string;
}

/** A busy BMC is slow. */
export const TASK_PAUSE_MS = 1_000;

interface Waiting {
  /** What was sent, for people: `update`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/** A look at a BMC that may be restarting. What waiting does not change says what was sent before. */
export async function whileRestarting<T>(
  { what, signal }: Waiting,
  look: () => Promise<T | BmcError>,
): Promise<T | BmcError> {
  try {
    return await look();
  } catch (thrown) {
    signal.throwIfAborted();
    const error = BmcError.from(thrown);
    throw new BmcError(error.class, `after the ${what} was sent: ${error.message}`, { cause: error });
  }
}

interface TaskPort {
  readonly clock: Clock;
  sleep(ms: number): Promise<void>;
  progress(text: string, limitMs?: number): void;
  /** One look; the error of a BMC that may be restarting. */
  readTask(): Promise<OperationTask | BmcError>;
}

interface TaskLimit extends Waiting {
  /** On the monotonic clock. */
  readonly endsMs: number;
  /** The whole time, for people. */
  readonly limitMs: number;
}

/** Follows a task to its end, also through a restart of the BMC. */
export async function followTask(
  { clock, sleep, progress, readTask }: TaskPort,
  { what, signal, endsMs, limitMs }: TaskLimit,
): Promise<OperationTask> {
  let said = "";
  let last = "the task has just begun";
  for (;;) {
    const now = await whileRestarting({ what, signal }, readTask);
    const leftMs = endsMs - clock.monotonicMs();
    if (now instanceof BmcError) last = now.message;
    else {
      const { state, percent, message } = now;
      if (state !== "running") return now;
      last = [percent === undefined ? "running" : `${percent} %`, message].filter(Boolean).join(", ");
    }
    const text = now instanceof BmcError ? "BMC silent, waiting until it answers again" : `${what}: ${last}`;
    if (text !== said) progress(text, Math.max(0, leftMs));
    said = text;
    if (leftMs <= 0) {
      const message = `the ${what} did not end within ${formatSeconds(limitMs)}: ${last}; the BMC may continue it`;
      throw new BmcError("timeout", message, { uncertain: true });
    }
    await sleep(Math.min(TASK_PAUSE_MS, leftMs));
  }
}
