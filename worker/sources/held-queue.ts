import type { Clock } from "../../shared/clock.ts";
import { Notifier } from "../../shared/notifier.ts";
import type { Action } from "../core/action/action.ts";
import type {
  ActionSource,
  Deletions,
  Poll,
  Source,
  StatusSink,
  Wake,
  Waking,
  WorkflowSet,
} from "../core/ports/source.ts";

export interface HeldQueueOptions<Item> {
  readonly agentId: string;
  /** Why a poll has no action. */
  readonly idle: string;
  /** Undefined for an item that is no longer to be done, which leaves the queue. */
  readonly actionOf: (item: Item) => Action | undefined;
  /** What happens to an item that the lane no longer has in flight, although it is still to be done. Default: it is queued again. */
  readonly onReturn?: (item: Item) => void;
  readonly clock: Clock;
}

/** How long a poll is held: less than what health accepts for a lane. */
const HOLD_MS = 20_000;
/** A lane drops actions without saying so. */
const RECHECK_MS = 250;

/** Items inside the worker that are to be done, as a source of actions. An item is to be done until it is removed. */
export class HeldQueue<Item extends { readonly id: string }> implements ActionSource, Waking {
  readonly #options: HeldQueueOptions<Item>;
  /** By ID, in the order of arrival. */
  readonly #ready = new Map<string, Item>();
  /** Given to the lane. */
  readonly #served = new Map<string, { readonly item: Item; readonly workflowId: string }>();
  readonly #notifier = new Notifier();
  #recheckedMs = 0;

  constructor(options: HeldQueueOptions<Item>) {
    this.#options = options;
  }

  add(item: Item): void {
    if (this.#served.has(item.id)) return;
    this.#ready.set(item.id, item);
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

  /** Answers once an action is ready, or after a while. Rejects when the signal aborts. */
  async next(_agentId: string, signal: AbortSignal, inFlight: WorkflowSet = new Set()): Promise<Poll> {
    const { clock, idle } = this.#options;
    const endMs = clock.monotonicMs() + HOLD_MS;
    for (;;) {
      signal.throwIfAborted();
      this.#takeBack(inFlight);
      const action = this.#take(inFlight);
      if (action) return { kind: "action", action };
      const remainingMs = endMs - clock.monotonicMs();
      if (remainingMs <= 0) return { kind: "idle", reason: idle };
      await this.#notifier.wait(
        this.#isEmpty ? remainingMs : Math.min(remainingMs, RECHECK_MS),
        clock,
        signal,
      );
    }
  }

  now(agentId: string): Wake | undefined {
    return agentId === this.#options.agentId && !this.#isEmpty ? "addressed" : undefined;
  }

  served(): void {}

  async wait(agentId: string, signal: AbortSignal): Promise<Wake> {
    while (!signal.aborted && this.now(agentId) === undefined) {
      await this.#notifier.wait(Number.POSITIVE_INFINITY, this.#options.clock, signal);
    }
    return "addressed";
  }

  get #isEmpty(): boolean {
    return this.#ready.size + this.#served.size === 0;
  }

  #take(inFlight: WorkflowSet): Action | undefined {
    for (const [id, item] of this.#ready) {
      const action = this.#options.actionOf(item);
      if (!action) {
        this.#ready.delete(id);
        continue;
      }
      const { workflowId } = action;
      if (inFlight.has(workflowId)) continue;
      this.#ready.delete(id);
      this.#served.set(id, { item, workflowId });
      return action;
    }
    return undefined;
  }

  #takeBack(inFlight: WorkflowSet): void {
    const { clock, onReturn = (item) => this.#ready.set(item.id, item) } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#recheckedMs < RECHECK_MS) return;
    this.#recheckedMs = nowMs;
    for (const [id, { item, workflowId }] of this.#served) {
      if (inFlight.has(workflowId)) continue;
      this.#served.delete(id);
      onReturn(item);
    }
  }
}

/** A source inside the worker: its actions are held in a queue, and it takes their reports and withdraws actions itself. */
export function heldSource(
  queue: ActionSource & Waking,
  sink: StatusSink,
  cancelOf: Deletions["cancelOf"],
): Source {
  return {
    next: (agentId, signal, inFlight) => queue.next(agentId, signal, inFlight),
    servesSeveral: () => queue.servesSeveral(),
    report: (status, signal) => sink.report(status, signal),
    waking: queue,
    deletions: { cancelOf },
  };
}
