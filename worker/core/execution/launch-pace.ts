/** So many launches begin per turn of the event loop. */
const PER_TURN = 2;

/**
 * Starts launches first in, first out, a few per turn of the event loop. If a thousand workflows become ready at once, all of
 * them report their start before the first launches take all the time.
 */
export class LaunchPace {
  readonly #waiting: (() => void)[] = [];
  #left = PER_TURN;
  #isTurning = false;

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
