import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";
import type { Access } from "./access.ts";
import { ChangeFailed, EndUnknown } from "./read-back.ts";
import type { OperationTask, StartedTask } from "./task-port.ts";

/** The pause between two polls, because a busy BMC is slow. */
export const TASK_PAUSE_MS = 1_000;
/** The longest pause between two polls that a BMC may request. */
export const LONGEST_TASK_PAUSE_MS = 30_000;

/**
 * Returns the error of a task that has failed, or undefined if it has succeeded. `what` is the subject, such as `the
 * update`.
 */
export function endError(what: string, task: OperationTask, name: string): BmcError | undefined {
  const { state, message } = task;
  const said = saidBy(task);
  const words = said && `: ${said}`;
  switch (state) {
    case "done":
      return undefined;
    case "failed":
      return new ChangeFailed(`${what} failed: ${message ?? (said || "the BMC gives no reason")}`);
    case "staged":
      return new EndUnknown(`the BMC keeps ${what} for the next boot (${name}): boot the machine${words}`);
    case "gone":
      return new EndUnknown(`the BMC no longer knows the task of ${what} (${name}): its outcome is unknown`);
    case "unknown":
      return new EndUnknown(`how ${what} ended is unknown (${name})${words}`);
    case "running":
      return new EndUnknown(`the task of ${what} (${name}) has not ended: its outcome is unknown${words}`);
    default:
      return state satisfies never;
  }
}

/** Returns the BMC's state and last message; empty if there are none. */
export function saidBy({ word, percent, message }: OperationTask): string {
  const parts = [word, percent === undefined ? undefined : `${percent} %`, message];
  return parts.filter((part) => part !== undefined).join(", ");
}

interface Waiting {
  /** The name of what was sent, for display: `update`. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/** Polls a BMC that may be restarting. An error that waiting does not change also says what was sent before. */
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
  /** Reads a task through the session that started it. */
  task(started: StartedTask): Promise<OperationTask | BmcError>;
}

interface TaskLimit extends Waiting {
  readonly started: StartedTask;
  /** The end of the wait on the monotonic clock. */
  readonly endsMs: number;
  /** The duration of the wait, for display. */
  readonly limitMs: number;
}

/** Follows a task to its end, even through a restart of the BMC. Throws `timeout` if it is still running at the limit. */
export async function followTask(
  { clock, sleep, progress, task }: TaskPort,
  { what, signal, started, endsMs, limitMs }: TaskLimit,
): Promise<OperationTask> {
  let said = "";
  let last = "the task has just begun";
  for (;;) {
    const now = await whileRestarting({ what, signal }, () => task(started));
    const leftMs = endsMs - clock.monotonicMs();
    let pauseMs = TASK_PAUSE_MS;
    if (now instanceof BmcError) last = now.message;
    else {
      const { state, percent, message, retryAfterMs = 0 } = now;
      if (state !== "running") return now;
      if (now.isMissing && leftMs <= 0) return { state: "gone" };
      last = [percent === undefined ? (now.word ?? "running") : `${percent} %`, message]
        .filter(Boolean)
        .join(", ");
      pauseMs = Math.min(Math.max(pauseMs, retryAfterMs), LONGEST_TASK_PAUSE_MS);
    }
    const text = now instanceof BmcError ? "BMC silent, waiting until it answers again" : `${what}: ${last}`;
    if (text !== said) progress(text, Math.max(0, leftMs));
    said = text;
    if (leftMs <= 0) {
      const message = `the ${what} did not end within ${formatSeconds(limitMs)}: ${last}; the BMC may continue it`;
      throw new BmcError("timeout", message, { uncertain: true });
    }
    await sleep(Math.min(pauseMs, leftMs));
  }
}

interface WorkPort<Drivers> extends TaskPort {
  start: Access<Drivers>["start"];
}

/** What the last command of an operation left running, across any number of sessions. */
export class BackgroundWork<Drivers> {
  readonly #port: WorkPort<Drivers>;
  readonly #signal: AbortSignal;
  #started: StartedTask | undefined;

  constructor(port: WorkPort<Drivers>, signal: AbortSignal) {
    this.#port = port;
    this.#signal = signal;
  }

  /** Sends a command and keeps what it starts, replacing what an earlier command started. */
  async start(...sending: Parameters<Access<Drivers>["start"]>): Promise<void> {
    this.#started = undefined;
    this.#started = await this.#port.start(...sending);
  }

  /** Polls once. Resolves to the error of a failed task, or to undefined if it is not certain or nothing was started. */
  async failure(what: string): Promise<BmcError | undefined> {
    const now = await this.#look();
    return now?.state === "failed" ? this.#error(what, now) : undefined;
  }

  /** Polls once. Resolves to the result for display; empty if nothing was started. */
  async words(): Promise<string> {
    const now = await this.#look();
    return now ? `${this.#started?.name}: ${saidBy(now) || now.state}` : "";
  }

  /**
   * Waits until the task has ended, until `endsMs` on the monotonic clock, or without it for `limitMs`. Throws if the task has
   * failed, and `timeout` if it is still running then.
   */
  async ended(
    what: string,
    limitMs: number,
    endsMs = this.#port.clock.monotonicMs() + limitMs,
  ): Promise<void> {
    const started = this.#started;
    if (!started) return;
    const end = await followTask(this.#port, { what, signal: this.#signal, started, endsMs, limitMs });
    const error = this.#error(`the ${what}`, end);
    if (error) throw error;
  }

  /**
   * Like `ended`, for a task that waits for the machine's next boot. A task that is still running at the limit also counts as
   * waiting.
   */
  async staged(what: string, limitMs: number): Promise<void> {
    const { clock, sleep } = this.#port;
    const endsMs = clock.monotonicMs() + limitMs;
    for (;;) {
      const now = await this.#look();
      if (now && now.state !== "running") {
        const error = now.state === "staged" ? undefined : this.#error(`the ${what}`, now);
        if (error) throw error;
        return;
      }
      if (!this.#started || clock.monotonicMs() >= endsMs) return;
      await sleep(TASK_PAUSE_MS);
    }
  }

  async #look(): Promise<OperationTask | undefined> {
    const now = this.#started && (await this.#port.task(this.#started));
    return now instanceof BmcError ? undefined : now;
  }

  #error(what: string, task: OperationTask): BmcError | undefined {
    return endError(what, task, this.#started?.name ?? "");
  }
}
