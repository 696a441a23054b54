import type { ActionSlots } from "./action-slots.ts";
import { type LockPurpose, type Locks, TurnRefused } from "./machine-locks.ts";

export interface Place {
  readonly machine?: string | undefined;
  /** The BMC, whatever name it has. */
  readonly lockKey?: string | undefined;
}

export interface TurnPurpose extends LockPurpose {
  readonly workflowId?: string;
}

/** A workflow's next action arrives within milliseconds, so that few have to be known. */
const MAX_STARTED = 1_000;

/**
 * Which action may run now: one at a time per machine and per BMC, and a limited number in total, started workflows first.
 */
export class Turns {
  readonly #locks: Locks;
  readonly #slots: ActionSlots;
  /** IDs of workflows that have an ended action, the latest last. */
  readonly #started = new Set<string>();

  constructor(locks: Locks, slots: ActionSlots) {
    this.#locks = locks;
    this.#slots = slots;
  }

  /**
   * Does the work while it holds machine, BMC and slot. Resolves to undefined if `stop` aborts while it waits, or if the
   * turn is refused.
   */
  async take<T>(
    place: Place,
    stop: AbortSignal,
    work: () => Promise<T>,
    purpose: TurnPurpose = {},
  ): Promise<T | undefined> {
    const { workflowId = "" } = purpose;
    const hasStarted = this.#started.has(workflowId);
    const held: (() => void)[] = [];
    try {
      try {
        for (const key of keysOf(place)) held.push(await this.#locks.acquire(key, stop, purpose));
        held.push(await this.#slots.acquire(stop, hasStarted, workflowId));
      } catch (thrown) {
        if (stop.aborted || thrown instanceof TurnRefused) return undefined;
        throw thrown;
      }
      const result = await work();
      this.#remember(workflowId);
      return result;
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  #remember(workflowId: string): void {
    if (workflowId === "") return;
    this.#started.delete(workflowId);
    this.#started.add(workflowId);
    const [oldest] = this.#started;
    if (oldest !== undefined && this.#started.size > MAX_STARTED) this.#started.delete(oldest);
  }
}

/**
 * The name always comes first, so that no two wait for each other. It is locked as well because the inventory may change the
 * BMC's address while an action still uses the old one.
 */
export function keysOf({ machine, lockKey }: Place): readonly string[] {
  return [
    ...(machine === undefined ? [] : [`machine ${machine}`]),
    ...(lockKey === undefined ? [] : [`bmc ${lockKey}`]),
  ];
}
