/** One piece of work that several wait for. It is given up when none of them waits any more. */
export class SharedRun<T> {
  readonly #given = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#given.signal);
    this.#result.catch(() => undefined);
  }

  /** False once it was given up. */
  get isOpen(): boolean {
    return !this.#given.signal.aborted;
  }

  /** Its result. When `signal` aborts: rejects with the reason, the last one to leave once the work has ended. */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => undefined);
    const leave = () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#given.abort(signal.reason);
      else left.reject(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([this.#result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}
