/** Work that several callers wait for. It is aborted when none waits any more. */
export class SharedRun<T> {
  readonly #given = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#given.signal);
    this.#result.catch(() => undefined);
  }

  /** False once it was aborted. */
  get isOpen(): boolean {
    return !this.#given.signal.aborted;
  }

  /**
   * Resolves to the result. Rejects with the signal's reason when it aborts; the last caller waits for the work to
   * end.
   */
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
