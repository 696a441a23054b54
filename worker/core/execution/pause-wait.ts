import type { Progress } from "../../../shared/contract/progress.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import { type Action, fieldsOf } from "../action/action.ts";
import { seenAction } from "../action/observer.ts";
import { targetOf } from "./admit.ts";
import type { Execution } from "./execution.ts";
import type { AllowedTarget, Target } from "./executor-options.ts";

/** How often a paused machine is checked: inventory and policy may change. */
const LOOK_MS = 2_000;

/**
 * Applies the policy to an action whose machine is paused: the action fails at once, or waits at most for its timeout. After the wait
 * it has its whole timeout to run.
 */
export class PauseWait {
  readonly #execution: Execution;
  readonly #action: Action;
  /** Since when it waits, by the monotonic clock. */
  #sinceMs: number | undefined;
  #isShown = false;

  constructor(execution: Execution, action: Action) {
    this.#execution = execution;
    this.#action = action;
  }

  /** Where the action may run now, or why it fails. With `paused`, it waits. */
  target(): Target {
    const { clock, pausedMachines } = this.#execution;
    const target = targetOf(this.#execution, this.#action);
    if (!target.ok || target.paused === undefined) {
      if (this.#isShown) this.#show(undefined);
      return target;
    }
    this.#sinceMs ??= clock.monotonicMs();
    if (pausedMachines() === "fail") return refused(target.paused);
    const mostMs = this.#mostMs;
    if (clock.monotonicMs() - this.#sinceMs < mostMs) return target;
    return refused(`${target.paused}; waited ${formatSeconds(mostMs)}`);
  }

  /** Waits a moment; resolves to false if `stop` aborts. */
  async wait(reason: string, machine: AllowedTarget["machine"], stop: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#execution;
    const sinceMs = this.#sinceMs ?? clock.monotonicMs();
    if (!this.#isShown) {
      log.info({ ...fieldsOf(this.#action, machine), reason }, "action waiting: machine is paused");
      this.#show({ text: reason, limitMs: this.#mostMs });
    }
    const leftMs = sinceMs + this.#mostMs - clock.monotonicMs();
    await clock.sleep(Math.min(LOOK_MS, Math.max(0, leftMs)), stop).catch(() => undefined);
    return !stop.aborted;
  }

  #show(progress: Progress | undefined): void {
    const { clock, observer } = this.#execution;
    this.#isShown = progress !== undefined;
    observer.action({
      ...{ kind: "progress", action: seenAction(this.#action), progress },
      at: new Date(clock.now()),
    });
  }

  get #mostMs(): number {
    const { timeoutMs } = this.#action;
    return timeoutMs > 0 ? timeoutMs : this.#execution.defaultTimeoutMs;
  }
}

function refused(reason: string): Target {
  return { ok: false, class: "state", reason };
}
