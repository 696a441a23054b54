import type { Clock } from "../../../../shared/clock.ts";
import { Notifier } from "../../../../shared/notifier.ts";
import type { Action } from "../../../action/action.ts";
import { PBNJ_AGENT_ID } from "../../../action/source-agent-ids.ts";
import type { Wake, Waking } from "../../../action/waking.ts";
import { heldPoll, RECHECK_MS, waitForAction } from "../../held-poll.ts";
import type { ActionSource, Poll, WorkflowSet } from "../../source.ts";
import { workflowOf } from "./task-action.ts";

export interface TaskQueueOptions {
  readonly clock: Clock;
  /** Undefined for a task that has ended. */
  readonly actionOf: (id: string) => Action | undefined;
}

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

  next(_agentId: string, signal: AbortSignal, inFlight: WorkflowSet = new Set()): Promise<Poll> {
    const take = () => {
      this.#takeBack(inFlight);
      return this.#take(inFlight);
    };
    const mayComeBack = () => this.#served.size > 0 || this.#ready.size > 0;
    return heldPoll({ take, mayComeBack, idle: "no task is pending", ...this.#waiting }, signal);
  }

  now(agentId: string): Wake | undefined {
    return agentId === PBNJ_AGENT_ID && this.#ready.size + this.#served.size > 0 ? "addressed" : undefined;
  }

  served(): void {}

  wait(agentId: string, signal: AbortSignal): Promise<Wake> {
    return waitForAction(() => this.now(agentId) !== undefined, this.#waiting, signal);
  }

  get #waiting() {
    return { notifier: this.#notifier, clock: this.#options.clock };
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
