import type { PowerState } from "../../../../contract/vocabulary.ts";
import type { NmiDriver } from "../../../operations/nmi.ts";
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

export const redfishPower = (system: ManagedSystem, reset: SystemReset): PowerDriver => ({
  read: async (signal) => powerState((await system.read(signal)).value.PowerState),
  stateName: () => system.last.value.PowerState,
  plan: (command, signal) => reset.plan(RESET_TYPES[command], command, signal),
  send: (command, signal) => reset.send(RESET_TYPES[command], command, signal),
});

/** Only the two settled states; `PoweringOn`, `PoweringOff`, `Paused` and anything else are neither. */
export function powerState(text: string | undefined): PowerState {
  if (text === "On") return "on";
  if (text === "Off") return "off";
  return "unknown";
}

/** A non-maskable interrupt is a reset type of its own (DSP0268, Resource.ResetType). */
const NMI_TYPES = ["Nmi"];

export const redfishNmi = (reset: SystemReset): NmiDriver => ({
  offered: (signal) => reset.offered(NMI_TYPES, "nmi", signal),
  plan: (signal) => reset.plan(NMI_TYPES, "nmi", signal),
  // Nothing shows an NMI.
  send: (signal) => reset.send(NMI_TYPES, "nmi", signal, true),
});
