interface Due {
  readonly key: string;
  readonly atMs: number;
}

/** A priority queue of keys by due time: a binary heap, in which replaced times remain until they come up. */
export class DueTimes {
  readonly #heap: Due[] = [];
  readonly #atMs = new Map<string, number>();

  /** Replaces an earlier time of the key. */
  set(key: string, atMs: number): void {
    this.#atMs.set(key, atMs);
    this.#heap.push({ key, atMs });
    for (let child = this.#heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#swapIfLater(parent, child)) break;
      child = parent;
    }
  }

  has(key: string): boolean {
    return this.#atMs.has(key);
  }

  delete(key: string): void {
    this.#atMs.delete(key);
  }

  /** The earliest time, if there is one. */
  get firstMs(): number | undefined {
    return this.#first()?.atMs;
  }

  /** Removes and returns the first key that is due. */
  take(nowMs: number): string | undefined {
    const first = this.#first();
    if (!first || first.atMs > nowMs) return undefined;
    this.#removeFirst();
    this.#atMs.delete(first.key);
    return first.key;
  }

  #first(): Due | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (!first || this.#atMs.get(first.key) === first.atMs) return first;
      this.#removeFirst();
    }
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1;
      const child = this.#isLater(left, left + 1) ? left + 1 : left;
      if (!this.#swapIfLater(parent, child)) return;
      parent = child;
    }
  }

  #isLater(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    return first !== undefined && second !== undefined && first.atMs > second.atMs;
  }

  #swapIfLater(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (!first || !second || first.atMs <= second.atMs) return false;
    this.#heap[a] = second;
    this.#heap[b] = first;
    return true;
  }
}
