/** Limits how many actions run at a time; first in, first out. */
export class ActionSlots {
  readonly limit: number;
  #free: number;
  /** First in, first out; a set, because any of them may stop waiting. */
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.limit = slots;
    this.#free = slots;
  }

  get taken(): number {
    return this.limit - this.#free;
  }

  /** Resolves to the slot's release, which counts once however often it is called. Rejects when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    let held = true;
    return () => {
      if (held) this.#release();
      held = false;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onSlot = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(onSlot);
        reject(signal.reason);
      };
      this.#waiting.add(onSlot);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Hands the slot to the first in line, so that a newcomer cannot take it. */
  #release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
