import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, fieldsOf } from "../action/action.ts";
import type { LaneOptions } from "./lane-options.ts";

/** Without a pause, the server would serve an action that was not run again at once. */
const HOLD_BACK: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/** The workflows of one lane that have a running action, or an action that is held back. */
export class WorkflowsInFlight {
  readonly #options: LaneOptions;
  /** Promises that never reject, by workflow ID. */
  readonly #inFlight = new Map<string, Promise<void>>();
  /** How many times in a row an action of a workflow was not run. */
  readonly #notRun = new Map<string, number>();

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#inFlight.size;
  }

  has(workflowId: string): boolean {
    return this.#inFlight.has(workflowId);
  }

  /** Runs an action. Resolves when its workflow may be served again. Never rejects. */
  serve(action: Action, stop: AbortSignal): Promise<void> {
    const { workflowId } = action;
    const served = this.#serve(action, stop).finally(() => this.#inFlight.delete(workflowId));
    this.#inFlight.set(workflowId, served);
    return served;
  }

  /** Records that the server has no action for the lane: a workflow that was held back is gone. */
  nothingServed(): void {
    if (this.size === 0) this.#notRun.clear();
  }

  /** Waits for `ms`, or until an action ends, because the next action of its workflow is then ready. */
  async pause(ms: number, stop: AbortSignal): Promise<void> {
    if (ms === 0) return;
    const over = new AbortController();
    const end = () => over.abort();
    stop.addEventListener("abort", end, { once: true });
    try {
      const slept = this.#options.clock.sleep(ms, over.signal).catch(() => undefined);
      await Promise.race([slept, ...this.#inFlight.values()]);
    } finally {
      stop.removeEventListener("abort", end);
      end();
    }
  }

  /** Resolves when no workflow is in flight. */
  async ended(): Promise<void> {
    await Promise.all(this.#inFlight.values());
  }

  async #serve(action: Action, stop: AbortSignal): Promise<void> {
    const { clock, execute, log } = this.#options;
    const { workflowId } = action;
    let wasRun = false;
    try {
      wasRun = await execute(action);
    } catch (thrown) {
      if (!stop.aborted) log.error({ ...fieldsOf(action), error: textOf(thrown) }, "lane failed, restarting");
    }
    if (wasRun || stop.aborted) {
      this.#notRun.delete(workflowId);
      return;
    }
    const times = (this.#notRun.get(workflowId) ?? 0) + 1;
    this.#notRun.set(workflowId, times);
    await clock.sleep(backoffMs(HOLD_BACK, times), stop).catch(() => undefined);
  }
}
