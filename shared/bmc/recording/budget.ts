import type { RecordingLimits } from "./read-tree.ts";

/** Counts what one protocol reads: its signal aborts when a limit is reached. */
export class RecordingBudget {
  /** Aborts the reading if the caller does, or at a limit. */
  readonly signal: AbortSignal;
  readonly #limits: RecordingLimits;
  readonly #over = new AbortController();
  #requests = 0;
  #bytes = 0;

  constructor(limits: RecordingLimits, signal: AbortSignal) {
    this.#limits = limits;
    this.signal = AbortSignal.any([signal, this.#over.signal, AbortSignal.timeout(limits.ms)]);
  }

  /** One request whose answer had so many bytes. */
  spend(bytes: number): void {
    this.#requests++;
    this.#bytes += bytes;
    if (this.#requests >= this.#limits.requests || this.#bytes >= this.#limits.bytes) this.#over.abort();
  }
}
