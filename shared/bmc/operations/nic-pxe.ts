import type { Plan } from "./access.ts";
import type { BiosAttributes } from "./bios-registry.ts";
import { type PxeSwitch, pxeSwitches, pxeValues } from "./network-boot-attributes.ts";

/** Result of turning PXE on or off for a network interface. */
export interface NicPxeReport {
  /** The interfaces and whether PXE was on, for the next boot, before the change. */
  readonly before: readonly PxeSwitch[];
  /** The switches as read back, for the next boot. */
  readonly after: readonly PxeSwitch[];
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

/** Sets or plans BIOS attributes. `values` computes them from the attributes of the next boot. */
type Apply<Result> = (values: (next: BiosAttributes) => BiosAttributes) => Promise<Result>;

interface SetAttributes {
  readonly after: { readonly attributes: BiosAttributes; readonly pending: BiosAttributes };
  readonly changed: boolean;
  readonly summary: string;
}

export async function setNicPxe(
  set: Apply<SetAttributes>,
  name: string,
  enabled: boolean,
): Promise<NicPxeReport> {
  let before: BiosAttributes = {};
  const { after, changed, summary } = await set((next) => {
    before = next;
    return pxeValues(name, enabled, next);
  });
  const what = `PXE of ${name} ${enabled ? "on" : "off"}`;
  return {
    before: pxeSwitches(before),
    after: pxeSwitches({ ...before, ...after.attributes, ...after.pending }),
    changed,
    summary: changed ? `${what}, by BIOS attributes: ${summary}` : `already ${what}`,
  };
}

export async function planNicPxe(
  plan: Apply<Plan<unknown>>,
  name: string,
  enabled: boolean,
): Promise<Plan<readonly PxeSwitch[]>> {
  let before: BiosAttributes = {};
  const { steps } = await plan((next) => {
    before = next;
    return pxeValues(name, enabled, next);
  });
  return { before: pxeSwitches(before), steps };
}

/** For people: `PXE on: NIC.Integrated.1-1-1; off: NIC.Slot.5-1`. */
export function describePxeSwitches(switches: readonly PxeSwitch[]): string {
  const namesOf = (isOn: boolean) =>
    switches.flatMap(({ name, enabled }) => (enabled === isOn ? [name] : [])).join(", ") || "none";
  return `PXE on: ${namesOf(true)}; off: ${namesOf(false)}`;
}
