import type { PowerState } from "../../../../contract/vocabulary.ts";
import type { PowerCommand, PowerDriver } from "../../../operations/power.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { SystemReset } from "../resources/system-reset.ts";

/** Reset types (DSP0268, Resource.ResetType) that carry out a command, best first. */
const RESET_TYPES: Readonly<Record<PowerCommand, readonly string[]>> = {
  on: ["On", "ForceOn"],
  off: ["ForceOff"],
  "soft-off": ["GracefulShutdown", "PushPowerButton"],
  cycle: ["PowerCycle"],
  reset: ["ForceRestart", "GracefulRestart"],
};

export class RedfishPower implements PowerDriver {
  readonly #system: ManagedSystem;
  readonly #reset: SystemReset;

  constructor(system: ManagedSystem, reset: SystemReset) {
    this.#system = system;
    this.#reset = reset;
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    const { value } = await this.#system.read(signal);
    return powerState(value.PowerState);
  }

  plan(command: PowerCommand, signal: AbortSignal): Promise<string> {
    return this.#reset.plan(RESET_TYPES[command], command, signal);
  }

  send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    return this.#reset.send(RESET_TYPES[command], command, signal);
  }
}

/** Only the two settled states; `PoweringOn`, `PoweringOff`, `Paused` and anything else are neither. */
function powerState(text: string | undefined): PowerState {
  if (text === "On") return "on";
  if (text === "Off") return "off";
  return "unknown";
}
