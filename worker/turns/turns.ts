import type { ActionSlots } from "./action-slots.ts";
import { type LockPurpose, type Locks, TurnRefused } from "./machine-locks.ts";

export interface Place {
  readonly machine?: string | undefined;
  /** The BMC, whatever name it has. */
  readonly lockKey?: string | undefined;
}

/** Which action may run now: one at a time per machine and per BMC, and a limited number in total. */
export class Turns {
  readonly #locks: Locks;
  readonly #slots: ActionSlots;

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
    purpose: LockPurpose = {},
  ): Promise<T | undefined> {
    const held: (() => void)[] = [];
    try {
      try {
        for (const key of keysOf(place)) held.push(await this.#locks.acquire(key, stop, purpose));
        held.push(await this.#slots.acquire(stop));
      } catch (thrown) {
        if (stop.aborted || thrown instanceof TurnRefused) return undefined;
        throw thrown;
      }
      return await work();
    } finally {
      for (const release of held.toReversed()) release();
    }
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
