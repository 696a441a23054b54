import type { NmiDriver } from "../../../operations/nmi.ts";
import type { SystemReset } from "../resources/system-reset.ts";

/** A non-maskable interrupt is a reset type of its own (DSP0268, Resource.ResetType). */
const TYPES = ["Nmi"];

export class RedfishNmi implements NmiDriver {
  readonly #reset: SystemReset;

  constructor(reset: SystemReset) {
    this.#reset = reset;
  }

  offered(signal: AbortSignal): Promise<true | undefined> {
    return this.#reset.offered(TYPES, "nmi", signal);
  }

  plan(signal: AbortSignal): Promise<string> {
    return this.#reset.plan(TYPES, "nmi", signal);
  }

  send(signal: AbortSignal): Promise<void> {
    return this.#reset.send(TYPES, "nmi", signal);
  }
}
