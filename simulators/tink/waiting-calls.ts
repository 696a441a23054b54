/** Calls that are held until something changes, by name, so that a change wakes only the calls that it concerns. */
export class WaitingCalls {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves with the next change of `name`, or when the signal aborts. */
  wait(name: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const calls = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, calls);
      const end = () => {
        calls.delete(end);
        if (calls.size === 0 && this.#waiting.get(name) === calls) this.#waiting.delete(name);
        signal.removeEventListener("abort", end);
        resolve();
      };
      calls.add(end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  wake(name: string): void {
    for (const end of [...(this.#waiting.get(name) ?? [])]) end();
  }
}
