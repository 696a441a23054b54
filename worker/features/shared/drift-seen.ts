import type { BiosValue } from "../../../shared/bmc/operations/bios-registry.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";

export type Setting = Exclude<keyof DesiredState, "enforce">;

/** `pending` waits for the machine's next boot, or lasts until then; `unknown` is what the BMC does not show. */
type DriftState = "same" | "different" | "pending" | "unknown";

/** One thing that the inventory asks for, beside what the machine has. */
export interface Difference {
  readonly setting: Setting;
  /** The setting, and with a dot the BIOS attribute or the firmware's component: `bios.NumCores`. */
  readonly field: string;
  readonly wanted: BiosValue | readonly string[];
  /** For firmware: the IDs of the components with the name, as the BMC lists them. */
  readonly ids?: readonly string[];
  readonly actual?: BiosValue | readonly string[];
  readonly state: DriftState;
  /** Why it is unknown, or why it is not corrected. */
  readonly reason?: string;
}

/** What the worker does about differences that it may correct. */
export interface Enforcement {
  /** `stopped` after several failures. */
  readonly state: "correcting" | "waiting" | "stopped";
  /** What it corrects, why or until when it waits, or the last failure. One line. */
  readonly reason: string;
}

/** A machine beside its desired state, as the worker compared it last. Texts are redacted and short. */
export interface DriftSeen {
  /** Without what is the same. */
  readonly differences: readonly Difference[];
  /** Absent if no comparison succeeded yet. */
  readonly comparedAt?: Date;
  /** Why the last comparison failed, at least in part. */
  readonly error?: { readonly class: ErrorClass; readonly message: string };
  /** Absent if nothing is to be corrected. */
  readonly enforcement?: Enforcement;
}

/** Each setting of which something differs. */
export function settingsThatDiffer({ differences }: Pick<DriftSeen, "differences">): readonly Setting[] {
  return [...new Set(differences.flatMap(({ setting, state }) => (state === "different" ? [setting] : [])))];
}
