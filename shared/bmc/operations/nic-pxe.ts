import type { Access, Plan } from "./access.ts";
import { type BiosDrivers, planBiosValues, setBiosValues } from "./bios.ts";
import type { BiosAttributes } from "./bios-registry.ts";
import { type PxeSwitch, pxeSwitches, pxeValues } from "./network-boot-attributes.ts";

/** Result of switching the PXE of a network interface. */
export interface NicPxeReport {
  /** The interfaces and their PXE, as the next boot had it before. */
  readonly before: readonly PxeSwitch[];
  /** As read back, for the next boot. */
  readonly after: readonly PxeSwitch[];
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

export async function setNicPxe(
  access: Access<BiosDrivers>,
  name: string,
  enabled: boolean,
  signal: AbortSignal,
): Promise<NicPxeReport> {
  const { seen, change } = changeOf(name, enabled);
  const { after, changed, summary } = await setBiosValues(access, change, signal);
  const before = seen();
  const what = `PXE of ${name} ${enabled ? "on" : "off"}`;
  return {
    before: pxeSwitches(before),
    after: pxeSwitches({ ...before, ...after.attributes, ...after.pending }),
    changed,
    summary: changed ? `${what}, by BIOS attributes: ${summary}` : `already ${what}`,
  };
}

export async function planNicPxe(
  access: Access<BiosDrivers>,
  name: string,
  enabled: boolean,
  signal: AbortSignal,
): Promise<Plan<readonly PxeSwitch[]>> {
  const { seen, change } = changeOf(name, enabled);
  const { steps } = await planBiosValues(access, change, signal);
  return { before: pxeSwitches(seen()), steps };
}

/** The change of BIOS attributes, and those that it met. */
function changeOf(name: string, enabled: boolean) {
  let present: BiosAttributes = {};
  const values = (next: BiosAttributes) => {
    present = next;
    return pxeValues(name, enabled, next);
  };
  return { seen: () => present, change: { values, applyTime: "on-reset" } as const };
}

/** For people: `PXE on: NIC.Integrated.1-1-1; off: NIC.Slot.5-1`. */
export function describePxeSwitches(switches: readonly PxeSwitch[]): string {
  const namesOf = (isOn: boolean) =>
    switches.flatMap(({ name, enabled }) => (enabled === isOn ? [name] : [])).join(", ") || "none";
  return `PXE on: ${namesOf(true)}; off: ${namesOf(false)}`;
}
