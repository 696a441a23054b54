/** Every so many slots, one goes to the other queue, so that no action waits forever. */
const OTHER_QUEUE_EVERY = 4;

/** In the order of arrival; a set, because any of them may stop waiting. */
type Queue = Set<() => void>;

/**
 * Limits how many actions run at a time. Those of started workflows come first: otherwise a thousand machines are all powered
 * off before the first one is powered on again. When few actions wait, new workflows come first: otherwise the last
 * ones to start run alone at the end, while most slots are free.
 */
export class ActionSlots {
  readonly limit: number;
  #free: number;
  #handOvers = 0;
  readonly #started: Queue = new Set();
  readonly #new: Queue = new Set();

  constructor(slots: number) {
    this.limit = slots;
    this.#free = slots;
  }

  get taken(): number {
    return this.limit - this.#free;
  }

  /** Resolves to the slot's release, which counts once however often it is called. Rejects when the signal aborts. */
  async acquire(signal: AbortSignal, hasStarted = false): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(hasStarted ? this.#started : this.#new, signal);
    let held = true;
    return () => {
      if (held) this.#release();
      held = false;
    };
  }

  #wait(queue: Queue, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onSlot = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        queue.delete(onSlot);
        reject(signal.reason);
      };
      queue.add(onSlot);
      signal.addEventListener("abort", onAbort);
    });
  }

  /** Hands the slot over to a waiting action, so that one that arrives now cannot take it. */
  #release(): void {
    const fewWait = this.#new.size + this.#started.size <= this.limit / 2;
    const isForOtherQueue = (this.#handOvers + 1) % OTHER_QUEUE_EVERY === 0;
    const isNewFirst = fewWait !== isForOtherQueue;
    const [first, second] = isNewFirst ? [this.#new, this.#started] : [this.#started, this.#new];
    const next = headOf(first) ?? headOf(second);
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#handOvers += 1;
    first.delete(next);
    second.delete(next);
    next();
  }
}

function headOf(queue: Queue): (() => void) | undefined {
  const [head] = queue;
  return head;
}
