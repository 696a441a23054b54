import { BmcError } from "../../shared/contract/bmc-error.ts";
import { printableLine, shortened } from "../../shared/printable.ts";
import type { Pause } from "../core/action/machine-facts.ts";
import type { ConnectionReading, Machine } from "./inventory.ts";
import type { Labels, Selector } from "./labels.ts";

export const LONGEST_REASON = 200;

/** Why a machine is out of service; `reason` is written by a user of the file or the object. */
export function pauseOf(reason: string, by: string): Pause {
  return { reason: shortened(printableLine(reason).trim(), LONGEST_REASON), by };
}

/** Why the rules of an inventory file take a machine with these labels out of service; undefined if none does. */
export function pauseReason(
  rules: readonly { readonly selector: Selector; readonly reason: string }[],
  labels: Labels | undefined,
): string | undefined {
  return rules.find(({ selector }) => selector.matches(labels))?.reason;
}

/** `paused: fan replacement (inventory machines.yaml)`. */
export function pauseNote({ reason, by }: Pause): string {
  return `paused: ${reason} (${by})`;
}

/** `machine r1 is paused: fan replacement (inventory machines.yaml)`. */
export function pausedText({ name }: Pick<Machine, "name">, pause: Pause): string {
  return `machine ${name} is ${pauseNote(pause)}`;
}

/** The error of an action or a read on a machine that is out of service: nothing is sent to its BMC. */
export class MachinePaused extends BmcError {
  constructor(machine: Pick<Machine, "name">, pause: Pause) {
    super("state", pausedText(machine, pause));
  }
}

/** Throws `MachinePaused`, unless the connection is not for the BMC. */
export function refusePaused(
  machine: Machine | undefined,
  { whilePaused }: Pick<ConnectionReading, "whilePaused">,
): void {
  if (machine?.paused && !whilePaused) throw new MachinePaused(machine, machine.paused);
}
