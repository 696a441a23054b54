import type { BiosValue } from "../../../shared/bmc/operations/bios-registry.ts";
import { compareVersions } from "../../../shared/bmc/operations/firmware-version.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { Difference, Setting } from "../shared/drift-seen.ts";

/** The order of corrections. Power comes last, so that a machine that is powered on boots with its settings. */
export const CORRECTION_ORDER: readonly Setting[] = ["bootDevice", "ntp", "bios", "firmware", "power"];

interface SettingAction {
  /** The action's name. */
  readonly action: string;
  /** Variables in addition to the machine and the timeout. */
  readonly environment: Readonly<Record<string, string>>;
}

/** An action that corrects all differences of one setting. */
export interface CorrectionPlan extends SettingAction {
  readonly setting: Setting;
  /** The field that it corrects: the first one if several fields of the setting differ. */
  readonly field: string;
  readonly timeoutMs: number;
}

/** A firmware image to install. */
interface Update {
  readonly field: string;
  readonly uri: string;
  /** The targets' IDs in the BMC's list. */
  readonly targets: readonly string[];
  readonly version: string;
}

const TIMEOUT_MS = 600_000;
/** The limits of `update-firmware` for upload, update and the BMC's restart, and some minutes. */
export const UPDATE_TIMEOUT_MS = 75 * 60_000;

/** The correction to make first; undefined if nothing can be corrected. */
export function nextCorrection(
  desired: DesiredState,
  differences: readonly Difference[],
): CorrectionPlan | undefined {
  for (const setting of CORRECTION_ORDER) {
    const different = differences.filter((one) => one.setting === setting && one.state === "different");
    const plan = different.length > 0 && planOf(setting, desired, different);
    if (plan) return { setting, field: different[0]?.field ?? setting, timeoutMs: TIMEOUT_MS, ...plan };
  }
  return undefined;
}

/** The update that corrects firmware; undefined without an image, and if the version is not older than the wanted one. */
export function updateOf(desired: DesiredState, difference: Difference): Update | undefined {
  const { field, actual, ids } = difference;
  const wanted = wantedFirmware(desired, difference);
  if (typeof wanted !== "object" || typeof actual !== "string" || !ids?.length) return undefined;
  const { image: uri, version } = wanted;
  if (downgradeOf(actual, version) !== undefined) return undefined;
  return { field, uri, targets: ids, version };
}

export function wantedFirmware({ firmware }: DesiredState, { field }: Difference) {
  return firmware?.[field.slice("firmware.".length)];
}

/** Why a version is not replaced by the wanted one; undefined if it is older. */
export function downgradeOf(actual: string, wanted: string): string | undefined {
  const order = compareVersions(actual, wanted);
  if (order !== undefined && order < 0) return undefined;
  const why = order === undefined ? `cannot be compared with ${wanted}` : "is newer";
  return `${actual} ${why}: only update-firmware with ALLOW_DOWNGRADE replaces it`;
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
  desired: DesiredState,
  different: readonly Difference[],
): (Partial<CorrectionPlan> & SettingAction) | undefined {
  const { bootDevice, ntp, power } = desired;
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
    case "firmware": {
      const update = different.flatMap((one) => updateOf(desired, one) ?? [])[0];
      if (!update) return undefined;
      const { field, targets, uri, version } = update;
      const environment = { FIRMWARE_URI: uri, TARGETS: targets.join(","), FIRMWARE_VERSION: version };
      return { action: "update-firmware", environment, field, timeoutMs: UPDATE_TIMEOUT_MS };
    }
    case "power":
      if (different.some(({ reason }) => reason !== undefined)) return undefined;
      return power && { action: power === "on" ? "power-on" : "power-off", environment: {} };
    default:
      return setting satisfies never;
  }
}
