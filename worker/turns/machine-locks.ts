/** What a turn is for. */
export interface TurnPurpose {
  /** Of the action; absent for what leaves nothing behind when its process dies. */
  readonly actionKey?: string;
}

/**
 * The action was at its BMC on behalf of another replica while it was waited for here, and is no longer: it may have ended, and
 * is to be asked for anew instead of run.
 */
export class ActedElsewhere extends Error {
  override readonly name = "ActedElsewhere";

  constructor() {
    super("another replica ran this action; the server serves it again if it has not ended");
  }
}

/** Gives turns, one at a time for each key, in the order they were asked for. */
export interface Locks {
  /**
   * Waits for its turn at `key`; resolves to what gives the turn back. Rejects when the signal aborts, and, where turns are shared
   * with other replicas, with `ActedElsewhere` or the cluster's error.
   */
  acquire(key: string, signal: AbortSignal, purpose?: TurnPurpose): Promise<() => void>;
}

/** Lets one action at a time at each BMC, in the order they came, whatever lane they came by. */
export class MachineLocks implements Locks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Waits for its turn at `key`; resolves to what gives the turn back. Rejects when the signal aborts. */
  async acquire(key: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const turn = Promise.withResolvers<void>();
    const tail = before.then(() => turn.promise);
    this.#tails.set(key, tail);
    // The last in line takes the key away with it, so that the map holds only machines in use.
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    try {
      await orAborted(before, signal);
    } catch (thrown) {
      turn.resolve();
      throw thrown;
    }
    return turn.resolve;
  }
}

function orAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    void wait.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
