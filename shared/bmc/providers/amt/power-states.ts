import { BmcError } from "../../../contract/bmc-error.ts";
import type { PowerState } from "../../../contract/vocabulary.ts";
import type { PowerCommand } from "../../operations/power.ts";
import { childOf, childrenOf, type XmlElement } from "./xml.ts";

/** The CIM_AssociatedPowerManagementService of a device. */
export interface PowerStatus {
  readonly state: PowerState;
  /** The device's own name of the state, for people. */
  readonly label: string;
  /** The requests that are available in this state; empty if the device does not report them. */
  readonly available: readonly number[];
}

/** Values of PowerState (DSP1027). States that are neither on nor off mean sleep, hibernation or a transition. */
const LABELS: Readonly<Record<number, readonly [label: string, state: PowerState]>> = {
  2: ["on", "on"],
  3: ["light sleep", "unknown"],
  4: ["deep sleep", "unknown"],
  5: ["power cycle", "unknown"],
  6: ["off (hard)", "off"],
  7: ["hibernation", "unknown"],
  8: ["off (soft)", "off"],
};

/**
 * The requests for each command, the preferred one first, as numbers of RequestPowerStateChange. AMT carries out 8 (off,
 * soft) immediately; 12 asks the operating system, through an agent that must run there.
 */
const REQUESTS: Readonly<Record<PowerCommand, readonly [number, ...number[]]>> = {
  on: [2],
  off: [8, 6],
  "soft-off": [12],
  cycle: [5, 9],
  reset: [10],
};

export function parsePowerStatus(instance: XmlElement): PowerStatus {
  const value = readInteger(childOf(instance, "PowerState"));
  if (value === undefined) throw new BmcError("protocol", "the device reports no PowerState");
  const [label, state] = LABELS[value] ?? [`state ${value}`, "unknown"];
  const available = childrenOf(instance, "AvailableRequestedPowerStates").flatMap(
    (element) => readInteger(element) ?? [],
  );
  return { state, label, available };
}

/**
 * The request for a command in this state. Throws `state` if the command makes no sense in it, and `unsupported` if the
 * device does not offer it.
 */
export function requestFor(command: PowerCommand, { state, label, available }: PowerStatus): number {
  if (state !== "on" && (command === "reset" || command === "cycle")) {
    throw new BmcError("state", `the device is in ${label}: it takes no ${command}`);
  }
  const [preferred, ...others] = REQUESTS[command];
  // A device that does not report its requests accepts the plain ones; whether an agent runs is then unknown. A running machine
  // does not offer to be powered on, but may later.
  const untold = available.length === 0 ? command !== "soft-off" : command === "on" && state === "on";
  if (untold) return preferred;
  const found = [preferred, ...others].find((request) => available.includes(request));
  if (found !== undefined) return found;
  const offers = available.length === 0 ? "nothing" : available.join(", ");
  const agent = command === "soft-off" ? ", which needs an agent in the operating system" : "";
  throw new BmcError(
    state === "on" ? "unsupported" : "state",
    `in ${label} the device offers ${offers}, not ${command} (${preferred})${agent}`,
  );
}

function readInteger(element: XmlElement | undefined): number | undefined {
  return element && /^\d{1,5}$/.test(element.text) ? Number(element.text) : undefined;
}
