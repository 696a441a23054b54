import type { ActionSlots } from "./action-slots.ts";
import { ActedElsewhere, type Locks, type TurnPurpose } from "./machine-locks.ts";

/** Where an action acts; absent is what it does not need. */
export interface Place {
  /** The machine's name. */
  readonly machine?: string | undefined;
  /** The BMC, whatever it is called. */
  readonly lockKey?: string | undefined;
}

/** Who may act now: one action at a time at a machine and at a BMC, and so many at a time in all. */
export class Turns {
  readonly #locks: Locks;
  readonly #slots: ActionSlots;

  constructor(locks: Locks, slots: ActionSlots) {
    this.#locks = locks;
    this.#slots = slots;
  }

  /**
   * Does the work in its turn. Undefined when `stop` aborts before the turn has come, and when the action was in another
   * replica's hand meanwhile.
   */
  async take<T>(
    place: Place,
    stop: AbortSignal,
    work: () => Promise<T>,
    purpose: TurnPurpose = {},
  ): Promise<T | undefined> {
    const held: (() => void)[] = [];
    try {
      try {
        for (const key of keysOf(place)) held.push(await this.#locks.acquire(key, stop, purpose));
        held.push(await this.#slots.acquire(stop));
      } catch (thrown) {
        if (stop.aborted || thrown instanceof ActedElsewhere) return undefined;
        throw thrown;
      }
      return await work();
    } finally {
      for (const release of held.toReversed()) release();
    }
  }
}

/**
 * The name goes first, always, so that no two wait for each other. It is locked as well because a machine's BMC may get
 * another address in the inventory while an action is still at it under the one before.
 */
export function keysOf({ machine, lockKey }: Place): readonly string[] {
  return [
    ...(machine === undefined ? [] : [`machine ${machine}`]),
    ...(lockKey === undefined ? [] : [`bmc ${lockKey}`]),
  ];
}
