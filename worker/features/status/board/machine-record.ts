import type { PowerState } from "../../../../shared/contract/vocabulary.ts";
import { defined } from "../../../../shared/defined.ts";
import { shortened } from "../../../../shared/printable.ts";
import type { MachineFacts } from "../../../core/action/machine-facts.ts";
import type { ActionRecord } from "./shown-action.ts";

/** A machine's power state as an action read it. */
export interface PowerReading {
  readonly state: PowerState;
  readonly at: Date;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The name of the action that read it. */
  readonly by: string;
}

/** A failed action, which may no longer be kept. */
export interface MachineFailure extends Pick<ActionRecord, "class" | "reason"> {
  readonly key: string;
  readonly name: string;
  readonly at: Date;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

/** What actions have read; the last one that read any of it, and when. */
interface KnownFacts {
  readonly facts: MachineFacts;
  readonly by: string;
  readonly at: Date;
}

/** The state of a machine. Immutable: every event creates a new record. */
export interface MachineRecord {
  readonly name: string;
  /** As read last. */
  readonly power?: PowerReading;
  /** The first readings of each state, newest first. */
  readonly powerChanges: readonly PowerReading[];
  readonly known?: KnownFacts;
  /** The provider that served last. */
  readonly provider?: string;
  /** Newest first. */
  readonly failures: readonly MachineFailure[];
  /** Keys of its waiting and running actions, in order of arrival. */
  readonly inFlight: readonly string[];
  /** Key of the action that ended last. */
  readonly last?: string;
  readonly revision: number;
}

/** Bounds of each machine, because there may be thousands. */
const MOST_POWER_CHANGES = 10;
const MOST_FAILURES = 5;
const LONGEST_REASON = 300;

/** What the end of an action changes in its machine's record. */
export function changeAtEnd(
  { powerChanges, failures, known }: Pick<MachineRecord, "powerChanges" | "failures" | "known">,
  { action, phase, sinceMs, class: errorClass, reason, provider }: ActionRecord,
  { at, state, facts }: { readonly at: Date; readonly state?: PowerState; readonly facts?: MachineFacts },
): Partial<MachineRecord> {
  const by = action.name;
  const power = state && { state, at, sinceMs, by };
  const failure: MachineFailure = {
    ...{ key: action.key, name: by, at, sinceMs },
    ...defined({
      class: errorClass,
      reason: reason === undefined ? undefined : shortened(reason, LONGEST_REASON),
    }),
  };
  return {
    last: action.key,
    ...defined({ power, provider }),
    ...(power &&
      powerChanges[0]?.state !== state && {
        powerChanges: [power, ...powerChanges].slice(0, MOST_POWER_CHANGES),
      }),
    ...(phase === "failed" && { failures: [failure, ...failures].slice(0, MOST_FAILURES) }),
    ...(facts && { known: { facts: { ...known?.facts, ...facts }, by, at } }),
  };
}
