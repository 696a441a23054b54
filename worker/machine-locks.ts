/** Lets one action at a time at each BMC, in the order they came, whatever lane they came by. */
export class MachineLocks {
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
