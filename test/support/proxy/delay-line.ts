interface Entry {
  readonly deliver: () => void;
  due: boolean;
}

/** Hands things on after a time, in the order they came, as a long wire does. The owner closes it. */
export class DelayLine {
  readonly #delayMs: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #queue: Entry[] = [];

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  /** `moreMs` holds it up further, and with it what follows. */
  carry(deliver: () => void, moreMs = 0): void {
    const delayMs = this.#delayMs + moreMs;
    if (delayMs === 0 && this.#queue.length === 0) {
      deliver();
      return;
    }
    const entry = { deliver, due: false };
    this.#queue.push(entry);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      entry.due = true;
      this.#handOn();
    }, delayMs);
    this.#timers.add(timer);
  }

  /** Drops what is still on its way. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#queue.length = 0;
  }

  #handOn(): void {
    while (this.#queue[0]?.due) this.#queue.shift()?.deliver();
  }
}
