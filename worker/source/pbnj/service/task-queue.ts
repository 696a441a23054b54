import type { Clock } from "../../../../shared/clock.ts";
import { Notifier } from "../../../../shared/notifier.ts";
import type { Action } from "../../../action/action.ts";
import { PBNJ_AGENT_ID } from "../../../action/source-agent-ids.ts";
import type { Wake, Waking } from "../../../action/waking.ts";
import type { ActionSource, Poll, WorkflowSet } from "../../source.ts";
import { workflowOf } from "./task-action.ts";

export interface TaskQueueOptions {
  readonly clock: Clock;
  /** Undefined for a task that has ended. */
  readonly actionOf: (id: string) => Action | undefined;
}

/** How long a poll is held: less than what health accepts for a lane. */
const HOLD_MS = 20_000;
const RECHECK_MS = 250;

/** The tasks that have not ended, by ID, as a source of actions. */
export class TaskQueue implements ActionSource, Waking {
  readonly #options: TaskQueueOptions;
  readonly #ready = new Set<string>();
  /** Given to the lane. */
  readonly #served = new Set<string>();
  readonly #notifier = new Notifier();
  #recheckedMs = 0;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
  }

  add(id: string): void {
    if (this.#served.has(id)) return;
    this.#ready.add(id);
    this.#notifier.notify();
  }

  has(id: string): boolean {
    return this.#ready.has(id) || this.#served.has(id);
  }

  remove(id: string): void {
    this.#ready.delete(id);
    this.#served.delete(id);
  }

  servesSeveral(): boolean {
    return true;
  }

  async next(_agentId: string, signal: AbortSignal, inFlight: WorkflowSet = new Set()): Promise<Poll> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + HOLD_MS;
    for (;;) {
      signal.throwIfAborted();
      this.#takeBack(inFlight);
      const action = this.#take(inFlight);
      if (action) return { kind: "action", action };
      const remainingMs = endMs - clock.monotonicMs();
      if (remainingMs <= 0) return { kind: "idle", reason: "no task is pending" };
      // The lane drops actions without saying so.
      const mayComeBack = this.#served.size > 0 || this.#ready.size > 0;
      await this.#notifier.wait(mayComeBack ? Math.min(remainingMs, RECHECK_MS) : remainingMs, clock, signal);
    }
  }

  now(agentId: string): Wake | undefined {
    return agentId === PBNJ_AGENT_ID && this.#ready.size + this.#served.size > 0 ? "addressed" : undefined;
  }

  served(): void {}

  async wait(agentId: string, signal: AbortSignal): Promise<Wake> {
    while (!signal.aborted && this.now(agentId) === undefined) {
      await this.#notifier.wait(Number.POSITIVE_INFINITY, this.#options.clock, signal);
    }
    return "addressed";
  }

  #take(inFlight: WorkflowSet): Action | undefined {
    for (const id of this.#ready) {
      if (inFlight.has(workflowOf(id))) continue;
      this.#ready.delete(id);
      const action = this.#options.actionOf(id);
      if (!action) continue;
      this.#served.add(id);
      return action;
    }
    return undefined;
  }

  /** Queues tasks again that the lane no longer has in flight, although they have not ended. */
  #takeBack(inFlight: WorkflowSet): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#recheckedMs < RECHECK_MS) return;
    this.#recheckedMs = nowMs;
    for (const id of this.#served) {
      if (inFlight.has(workflowOf(id))) continue;
      this.#served.delete(id);
      this.#ready.add(id);
    }
  }
}
