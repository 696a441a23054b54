import type { BiosValue } from "../../../shared/bmc/operations/bios-registry.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";

export type Setting = Exclude<keyof DesiredState, "enforce">;

/**
 * The state of one setting. `pending`: the difference lasts until the machine's next boot. `unknown`: the BMC does not show
 * it.
 */
type DriftState = "same" | "different" | "pending" | "unknown";

/** A setting of the desired state, with the machine's actual value. */
export interface Difference {
  readonly setting: Setting;
  /** The setting, followed by a dot and the BIOS attribute or firmware component, such as `bios.NumCores`. */
  readonly field: string;
  readonly wanted: BiosValue | readonly string[];
  /** The IDs of firmware components with the name, in the BMC's order. */
  readonly ids?: readonly string[] | undefined;
  readonly actual?: BiosValue | readonly string[] | undefined;
  readonly state: DriftState;
  /** Why the value is unknown or is not corrected. */
  readonly reason?: string | undefined;
}

/** The worker's handling of differences that it may correct. */
export interface Enforcement {
  /** `stopped` after several failures. */
  readonly state: "correcting" | "waiting" | "stopped";
  /** One line: the correction, the reason for waiting, or the last failure. */
  readonly reason: string;
}

/** The result of the last comparison of a machine with its desired state. Texts are redacted and short. */
export interface DriftSeen {
  /** The differences; equal settings are left out. */
  readonly differences: readonly Difference[];
  /** Absent if no comparison has succeeded yet. */
  readonly comparedAt?: Date | undefined;
  /** The error of the last comparison, if it failed at least in part. */
  readonly error?: { readonly class: ErrorClass | undefined; readonly message: string };
  /** Absent if there is nothing to correct. */
  readonly enforcement?: Enforcement | undefined;
}

/** The settings with at least one difference. */
export function settingsThatDiffer({ differences }: DriftSeen): readonly Setting[] {
  return [...new Set(differences.flatMap(({ setting, state }) => (state === "different" ? [setting] : [])))];
}
