import { dice } from "../dice.ts";

export interface LossyLineOptions {
  readonly latencyMs: number;
  /** Shares of datagrams (0 to 1) that are lost, come twice, or come late enough to be overtaken. */
  readonly loss: number;
  readonly duplication: number;
  readonly reordering: number;
  /** Equal seeds make equal choices. */
  readonly seed: number;
}

const LATE_MS = 30;

/** One direction of a datagram network. The owner closes it. */
export class LossyLine {
  readonly #options: LossyLineOptions;
  readonly #roll: () => number;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: LossyLineOptions) {
    this.#options = options;
    this.#roll = dice(options.seed);
  }

  carry(deliver: () => void): void {
    const { latencyMs, loss, duplication, reordering } = this.#options;
    if (this.#roll() < loss) return;
    const copies = this.#roll() < duplication ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      this.#after(latencyMs + (this.#roll() < reordering ? LATE_MS : 0), deliver);
    }
  }

  /** Drops what is still on its way. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #after(ms: number, deliver: () => void): void {
    if (ms === 0) {
      deliver();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      deliver();
    }, ms);
    this.#timers.add(timer);
  }
}
