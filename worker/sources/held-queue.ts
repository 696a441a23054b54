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
  /** The reason of a poll without an action. */
  readonly idle: string;
  /** The action of an item. Returns undefined if the item is no longer to be done; it then leaves the queue. */
  readonly actionOf: (item: Item) => Action | undefined;
  /** Called for an unfinished item that the lane no longer has in flight. Default: it is queued again. */
  readonly onReturn?: (item: Item) => void;
  readonly clock: Clock;
}

/** How long a poll is held. The health check accepts a longer time for a lane. */
const HOLD_MS = 20_000;
/** Lanes drop actions without notice, so items are rechecked at this interval. */
const RECHECK_MS = 250;

/** A source of actions for items inside the worker. An item is to be done until it is removed. */
export class HeldQueue<Item extends { readonly id: string }> implements ActionSource, Waking {
  readonly #options: HeldQueueOptions<Item>;
  /** Items that are ready, by ID, in order of arrival. */
  readonly #ready = new Map<string, Item>();
  /** Items that were given to the lane. */
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

  /** Answers a poll when an action is ready, or after a while. Rejects when the signal aborts. */
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

/**
 * Creates a source inside the worker. Its actions are held in a queue, and it receives their reports and withdraws actions
 * itself.
 */
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
