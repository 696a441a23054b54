import { raceAbort } from "../../shared/race-abort.ts";

export interface LockPurpose {
  /** Absent if nothing keeps running when this process dies. */
  readonly actionKey?: string;
}

/** The action does not get its turn now: the server serves it again if it has not ended meanwhile. */
export class TurnRefused extends Error {
  override readonly name = "TurnRefused";
}

/** Locks by key; first in, first out. */
export interface Locks {
  /**
   * Resolves to the lock's release. Rejects when the signal aborts and, with leader election, with `TurnRefused`.
   */
  acquire(key: string, signal: AbortSignal, purpose?: LockPurpose): Promise<() => void>;
}

export class MachineLocks implements Locks {
  readonly #tails = new Map<string, Promise<void>>();

  async acquire(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const before = this.#tails.get(key) ?? Promise.resolve();
    const turn = Promise.withResolvers<void>();
    const tail = before.then(() => turn.promise);
    this.#tails.set(key, tail);
    // The last in line removes the key, so that the map holds only machines in use.
    const last = () => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    tail.then(last, last);
    try {
      await raceAbort(before, signal);
    } catch (thrown) {
      turn.resolve();
      throw thrown;
    }
    return turn.resolve;
  }
}
