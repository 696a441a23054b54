import { defined } from "../../../../defined.ts";
import type { NmiDriver } from "../../../operations/nmi.ts";
import type { PowerCommand, PowerDriver, ResetMark } from "../../../operations/power.ts";
import { powerState } from "../resources/resources.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { SystemReset } from "../resources/system-reset.ts";
import type { System } from "../service/schema.ts";
import { bootProgress } from "./boot-progress.ts";
import { bootCount } from "./powerhistory.ts";

/** Reset types (DSP0268, Resource.ResetType) for a command, the best first. */
const RESET_TYPES: Readonly<Record<PowerCommand, readonly string[]>> = {
  on: ["On", "ForceOn"],
  off: ["ForceOff"],
  "soft-off": ["GracefulShutdown", "PushPowerButton"],
  cycle: ["PowerCycle"],
  // GracefulRestart asks the operating system, which may hang.
  reset: ["ForceRestart"],
};

export const redfishPower = (system: ManagedSystem, reset: SystemReset): PowerDriver => ({
  read: async (signal) => powerState((await system.read(signal)).value.PowerState),
  stateName: () => system.last.value.PowerState,
  resetMark: () => resetMarkOf(system.last.value),
  plan: (command, signal) => reset.plan(RESET_TYPES[command], command, signal),
  send: (command, signal) => reset.send(RESET_TYPES[command], command, signal),
});

/** The BMC's data about the last reset: its time, Lenovo's boot count, and whether the operating system runs. */
function resetMarkOf(system: System): ResetMark {
  const progress = bootProgress(system);
  return defined({
    resetTime: system.LastResetTime,
    boots: bootCount(system),
    running: progress && ["boot-started", "os-running"].includes(progress.stage ?? ""),
  });
}

/** A non-maskable interrupt is a separate reset type (DSP0268, Resource.ResetType). */
const NMI_TYPES = ["Nmi"];

export const redfishNmi = (reset: SystemReset): NmiDriver => ({
  offered: (signal) => reset.offered(NMI_TYPES, "nmi", signal),
  plan: (signal) => reset.plan(NMI_TYPES, "nmi", signal),
  // An NMI leaves no visible effect.
  send: (signal) => reset.send(NMI_TYPES, "nmi", signal, true),
});
