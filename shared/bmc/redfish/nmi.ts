import type { NmiDriver } from "../provider.ts";
import type { SystemReset } from "./system-reset.ts";

/** A non-maskable interrupt is a reset type of its own (DSP0268, Resource.ResetType). */
export class RedfishNmi implements NmiDriver {
  readonly #reset: SystemReset;

  constructor(reset: SystemReset) {
    this.#reset = reset;
  }

  send(signal: AbortSignal): Promise<void> {
    return this.#reset.send(["Nmi"], "nmi", signal);
  }
}
