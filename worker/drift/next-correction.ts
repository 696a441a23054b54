import type { BiosValue } from "../../shared/bmc/operations/bios-registry.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { Difference, Setting } from "../action/drift-seen.ts";

/** Power is last, so that a machine that is powered on boots with its settings. */
export const CORRECTION_ORDER: readonly Setting[] = ["bootDevice", "ntp", "bios", "firmware", "power"];

/** An action that corrects all differences of one setting. */
export interface CorrectionPlan {
  readonly setting: Setting;
  /** The action's name. */
  readonly action: string;
  /** Besides the machine and the timeout. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What to correct first; undefined if nothing can be corrected. Firmware cannot, because an update needs an image. */
export function nextCorrection(
  desired: DesiredState,
  differences: readonly Difference[],
): CorrectionPlan | undefined {
  for (const setting of CORRECTION_ORDER) {
    const different = differences.filter((one) => one.setting === setting && one.state === "different");
    const plan = different.length > 0 && planOf(setting, desired, different);
    if (plan) return { setting, ...plan };
  }
  return undefined;
}

/** The wanted values of the BIOS attributes that differ. */
export function biosValuesOf(different: readonly Difference[]): Readonly<Record<string, BiosValue>> {
  const values = different.flatMap(({ field, wanted }) =>
    typeof wanted === "object" ? [] : [[field.slice("bios.".length), wanted] as const],
  );
  return Object.fromEntries(values);
}

function planOf(
  setting: Setting,
  { bootDevice, ntp, power }: DesiredState,
  different: readonly Difference[],
): Omit<CorrectionPlan, "setting"> | undefined {
  switch (setting) {
    case "bootDevice":
      return (
        bootDevice && { action: "set-boot-device", environment: { DEVICE: bootDevice, PERSISTENT: "true" } }
      );
    case "ntp":
      return ntp && { action: "set-ntp", environment: { NTP_SERVERS: ntp.join(",") } };
    case "bios":
      return {
        action: "set-bios",
        environment: { BIOS_ATTRIBUTES: JSON.stringify(biosValuesOf(different)) },
      };
    case "firmware":
      return undefined;
    case "power":
      return power && { action: power === "on" ? "power-on" : "power-off", environment: {} };
    default:
      return setting satisfies never;
  }
}
