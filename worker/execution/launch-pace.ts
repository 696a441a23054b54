/** As many launches begin before the event loop reads what has come meanwhile. */
const PER_TURN = 2;

/**
 * Lets launches begin in the order in which they ask, a few in each turn of the event loop. When a thousand workflows become
 * ready at once, each of them is picked up and its start is reported before the work of the first ones takes all the time.
 */
export class LaunchPace {
  readonly #waiting: (() => void)[] = [];
  #left = PER_TURN;
  #isTurning = false;

  /** Resolves when the next launch may begin. */
  async next(): Promise<void> {
    if (this.#left === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#left -= 1;
    this.#turn();
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      const begin = this.#waiting.splice(0, PER_TURN);
      this.#left = PER_TURN - begin.length;
      for (const resolve of begin) resolve();
    });
  }
}
