import type { RecordingLimits } from "./read-tree.ts";

/** Limits the reading of one protocol: its signal aborts when a limit is reached. */
export class RecordingBudget {
  /** Aborts when the caller does, or at a limit. */
  readonly signal: AbortSignal;
  readonly #limits: RecordingLimits;
  readonly #over = new AbortController();
  #requests = 0;
  #bytes = 0;

  constructor(limits: RecordingLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.signal = AbortSignal.any([signal, this.#over.signal, AbortSignal.timeout(limits.ms)]);
  }

  /** Counts one request with the size of its answer. */
  spend(bytes: number): void {
    this.#requests++;
    this.#bytes += bytes;
    if (this.#requests >= this.#limits.requests || this.#bytes >= this.#limits.bytes) this.#over.abort();
  }
}
