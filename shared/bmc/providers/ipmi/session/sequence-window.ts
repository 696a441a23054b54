const WIDTH = 32;

/**
 * Which session sequence numbers have come in, so that a repeated or replayed packet is taken once
 * (IPMI 2.0 section 6.12.13). Packets may overtake each other within the window.
 */
export class SequenceWindow {
  #highest = 0;
  /** Bit n: `#highest - n` has come in. */
  #seen = 0;

  /** True the first time a number within the window is offered. */
  accept(sequence: number): boolean {
    if (sequence === 0) return false;
    const ahead = sequence - this.#highest;
    if (ahead > 0) {
      this.#seen = ahead >= WIDTH ? 1 : (this.#seen << ahead) | 1;
      this.#highest = sequence;
      return true;
    }
    if (-ahead >= WIDTH) return false;
    const bit = 1 << -ahead;
    if ((this.#seen & bit) !== 0) return false;
    this.#seen |= bit;
    return true;
  }
}
