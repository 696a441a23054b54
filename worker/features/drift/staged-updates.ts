import * as z from "zod/mini";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { Outcome } from "../../core/action/action.ts";
import type { Difference } from "../shared/drift-seen.ts";
import { wantedFirmware } from "./next-correction.ts";

/** A firmware update that waits for the machine's next boot. */
interface Staged {
  /** The components' IDs. */
  readonly ids: readonly string[];
  /** The result of `keyOf`. For an update of an earlier worker, it is the key of the first comparison after it. */
  readonly key?: string | undefined;
}

/** A comparison of a machine. */
export interface Compared {
  readonly machine: string;
  readonly desired: DesiredState;
  readonly differences: readonly Difference[];
}

/** The most components that a desired state may have. */
const MOST_STAGED = 200;

/** A result that only `update-firmware` reports: a waiting update with its targets. */
const Pending = z.object({
  data: z.object({ pending: z.literal(true) }),
  before: z.array(z.object({ id: z.string() })).check(z.minLength(1)),
});

/** Remembers updates that were sent and wait for the next boot. BMCs do not list them, so only this worker knows them. */
export class StagedUpdates {
  /** Waiting updates by machine. */
  readonly #staged = new Map<string, readonly Staged[]>();
  /** The key of the correction that was offered last, by machine. */
  readonly #offered = new Map<string, string>();

  /** Records that the correction of this difference is about to start. */
  offered({ machine, desired }: Compared, difference: Difference): void {
    this.#offered.set(machine, keyOf(desired, difference));
  }

  /** Records the end of a correction. `isOwn` means that this worker offered it, so it is the latest offer. */
  ended(machine: string, { ok, result }: Outcome, isOwn: boolean): void {
    const pending = Pending.safeParse(result);
    if (!ok || !pending.success) return;
    const ids = pending.data.before.map(({ id }) => id);
    const update = { ids, key: isOwn ? this.#offered.get(machine) : undefined };
    const others = this.#of(machine).filter((other) => !ids.some((id) => other.ids.includes(id)));
    this.#staged.set(machine, [...others, update].slice(-MOST_STAGED));
  }

  /** Returns the differences. Updated firmware is `pending` until its version or its desired version changes. */
  withPending({ machine, desired, differences }: Compared): readonly Difference[] {
    const staged = this.#of(machine).flatMap((update) => {
      const one = differences.find(({ ids = [] }) => ids.some((id) => update.ids.includes(id)));
      // The version could not be read.
      if (!one) return [update];
      const key = keyOf(desired, one);
      return one.state === "different" && (update.key ?? key) === key ? [{ ...update, key }] : [];
    });
    if (staged.length > 0) this.#staged.set(machine, staged);
    else this.#staged.delete(machine);
    return differences.map((one) => {
      const waits = staged.some(({ key }) => key === keyOf(desired, one));
      return waits && one.state === "different" ? { ...one, state: "pending" } : one;
    });
  }

  forget(machine: string): void {
    this.#offered.delete(machine);
    this.#staged.delete(machine);
  }

  #of(machine: string): readonly Staged[] {
    return this.#staged.get(machine) ?? [];
  }
}

/** Identifies what an update of a difference depends on. */
function keyOf(desired: DesiredState, one: Difference): string {
  return JSON.stringify([one.field, wantedFirmware(desired, one), one.actual]);
}
