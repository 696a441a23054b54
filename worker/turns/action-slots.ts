/** Lets so many actions run at a time, those that asked first before those that asked later. */
export class ActionSlots {
  readonly limit: number;
  #free: number;
  /** In the order in which they asked; a set, as any of them may stop waiting. */
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.limit = slots;
    this.#free = slots;
  }

  /** How many are taken now. */
  get taken(): number {
    return this.limit - this.#free;
  }

  /** Waits for a slot; resolves to what gives it back, once however often it is called. Rejects when the signal aborts. */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    let held = true;
    return () => {
      if (held) this.#release();
      held = false;
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(onTurn);
        reject(signal.reason);
      };
      this.#waiting.add(onTurn);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** A slot goes straight to whoever waits longest, so that nobody who comes by takes it first. */
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
