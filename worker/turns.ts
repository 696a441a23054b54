import type { ActionSlots } from "./action-slots.ts";
import type { MachineLocks } from "./machine-locks.ts";

/** Who may act now: one action at a time at a BMC, and so many at a time in all. */
export class Turns {
  readonly #locks: MachineLocks;
  readonly #slots: ActionSlots;

  constructor(locks: MachineLocks, slots: ActionSlots) {
    this.#locks = locks;
    this.#slots = slots;
  }

  /** Does the work in its turn. Undefined when `stop` aborts before the turn has come. */
  async take<T>(
    lockKey: string | undefined,
    stop: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const held: (() => void)[] = [];
    try {
      try {
        if (lockKey !== undefined) held.push(await this.#locks.acquire(lockKey, stop));
        held.push(await this.#slots.acquire(stop));
      } catch (thrown) {
        if (stop.aborted) return undefined;
        throw thrown;
      }
      return await work();
    } finally {
      for (const release of held.toReversed()) release();
    }
  }
}
