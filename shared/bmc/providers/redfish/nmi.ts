import type { NmiDriver, Offer } from "../../provider.ts";
import type { SystemReset } from "./system-reset.ts";

/** A non-maskable interrupt is a reset type of its own (DSP0268, Resource.ResetType). */
const TYPES = ["Nmi"];

export class RedfishNmi implements NmiDriver {
  readonly #reset: SystemReset;

  constructor(reset: SystemReset) {
    this.#reset = reset;
  }

  offer(signal: AbortSignal): Promise<Offer> {
    return this.#reset.offer(TYPES, "nmi", signal);
  }

  plan(signal: AbortSignal): Promise<string> {
    return this.#reset.plan(TYPES, "nmi", signal);
  }

  send(signal: AbortSignal): Promise<void> {
    return this.#reset.send(TYPES, "nmi", signal);
  }
}
