import type { Weather } from "./connection.ts";

/** Slow answers, lost requests and lost answers, while a storm lasts. */
export class ChangingWeather implements Weather {
  readonly #random: () => number;
  storms = 0;
  /** The least latency. */
  oneWayMs = 1;

  constructor(random: () => number) {
    this.#random = random;
  }

  latencyMs(): number {
    const slow = this.storms > 0 && this.#random() < 0.2 ? 8_000 * this.#random() ** 2 : 0;
    return this.oneWayMs + 20 * this.#random() ** 3 + slow;
  }

  losesRequest(): boolean {
    return this.storms > 0 && this.#random() < 0.1;
  }

  losesAnswer(): boolean {
    return this.storms > 0 && this.#random() < 0.2;
  }
}
