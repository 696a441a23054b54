import { BmcError } from "../../shared/contract/bmc-error.ts";
import { printableLine, shortened } from "../../shared/printable.ts";
import type { Pause } from "../core/action/machine-facts.ts";
import type { Labels, Selector } from "../document/labels.ts";
import type { Machine } from "./inventory.ts";

export const LONGEST_REASON = 200;

/** Creates a pause; `reason` was written by a user of the file or object. */
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

/** Formats a pause, such as `paused: fan replacement (inventory machines.yaml)`. */
export function pauseNote({ reason, by }: Pause): string {
  return `paused: ${reason} (${by})`;
}

/** Formats a machine's pause, such as `machine r1 is paused: fan replacement (inventory machines.yaml)`. */
export function pausedText(name: string, pause: Pause): string {
  return `machine ${name} is ${pauseNote(pause)}`;
}

/** The error of an action or a read on a machine that is out of service: nothing is sent to its BMC. */
export class MachinePaused extends BmcError {
  constructor(machine: string, pause: Pause) {
    super("state", pausedText(machine, pause));
  }
}

/** Throws `MachinePaused` if the machine is paused, unless the connection may be read in spite of that. */
export function refusePaused(
  machine: Machine | undefined,
  { whilePaused }: { readonly whilePaused?: true | undefined },
): void {
  if (machine?.paused && !whilePaused) throw new MachinePaused(machine.name, machine.paused);
}
