import { setImmediate as turn } from "node:timers/promises";

interface Due {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** Time that passes only from one thing that is due to the next, so that hours of fifty replicas take seconds. */
export class VirtualTime {
  #nowMs = 0;
  #order = 0;
  /** A binary heap, the next at its root. */
  readonly #heap: Due[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Gives what takes it back. */
  after(ms: number, run: () => void): () => void {
    const due: Due = { atMs: this.#nowMs + Math.max(0, ms), order: this.#order++, run };
    this.#push(due);
    return () => {
      due.run = undefined;
    };
  }

  /** `look` sees the state after each thing that happened. */
  async run(ms: number, look?: () => void): Promise<void> {
    const endMs = this.#nowMs + ms;
    await turn();
    while (await this.#next(endMs, look));
    this.#nowMs = endMs;
  }

  /** Lets time pass until the condition holds. Rejects when nothing more would happen, or after `limitMs`. */
  async until(condition: () => boolean, limitMs: number, look?: () => void): Promise<void> {
    const endMs = this.#nowMs + limitMs;
    await turn();
    while (!condition()) {
      if (!(await this.#next(endMs, look)))
        throw new Error(`the condition does not hold within ${limitMs} ms`);
    }
  }

  /** Lets the next thing happen. Resolves to false if nothing is due until then. */
  async #next(endMs: number, look: (() => void) | undefined): Promise<boolean> {
    for (let next = this.#heap[0]; next && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      if (!next.run) continue;
      this.#nowMs = next.atMs;
      next.run();
      // What the promises of the code under test have to do is done when the next turn of the event loop comes.
      await turn();
      look?.();
      return true;
    }
    return false;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (!parent || isBefore(parent, due)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      if (!left) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = last;
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
