export interface NetworkOptions {
  /** Time added to every answer. */
  readonly latencyMs: number;
  /** Shares of datagrams (0 to 1), in each direction, that are lost, come twice, or come late. */
  readonly loss: number;
  readonly duplication: number;
  readonly reordering: number;
  /** The same seed makes the same choices. */
  readonly seed: number;
}

const LATE_MS = 30;

/** The wire between client and BMC: loses, repeats and delays datagrams by a seeded dice. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: number;

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.#state = options.seed;
  }

  receive(deliver: () => void): void {
    this.#carry(0, deliver);
  }

  send(deliver: () => void): void {
    this.#carry(this.#options.latencyMs, deliver);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #carry(delayMs: number, deliver: () => void): void {
    const { loss, duplication, reordering } = this.#options;
    if (this.#roll() < loss) return;
    const copies = this.#roll() < duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.#after(delayMs + (this.#roll() < reordering ? LATE_MS : 0), deliver);
    }
  }

  #after(ms: number, run: () => void): void {
    if (ms === 0) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  /** Mulberry32: small, good enough to spread, and the same everywhere. */
  #roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
