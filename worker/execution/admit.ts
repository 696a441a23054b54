import type { Connection } from "../../shared/contract/connection.ts";
import { defined } from "../../shared/defined.ts";
import { type Action, actionKey, fieldsOf, type LogFields, type Outcome } from "../action/action.ts";
import { hooksOf } from "../action/hooks.ts";
import { type Observer, seenAction } from "../action/observer.ts";
import { isSettled, type JournalEntry, type SettledEntry, statusOf } from "../journal/entry.ts";
import type { ConnectionReading, HostAccess, MountedConnection } from "../machines/inventory.ts";
import { failedLaunch } from "../runtime/outcome.ts";
import type { LaunchTerms } from "../runtime/runtime.ts";
import { ActionRecorder, newEntry, notRecorded, type RecorderOptions } from "./action-recorder.ts";
import type { Conclusion } from "./conclude.ts";
import type { FinalReports } from "./final-reports.ts";
import type { Reporter } from "./report.ts";
import type { StopSignals } from "./stop-signals.ts";

/** Whether an action may run, or the rule that denies it. */
type Permission = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Which machine an action is for, if it may use it. */
export type Target =
  | {
      readonly ok: true;
      /** The machine's name; absent if the action brings its own connection or needs none. */
      readonly machine?: string;
      /** The BMC, whatever name it has; absent if there is none. */
      readonly lockKey?: string;
      readonly terms?: LaunchTerms;
      /** Reads the credentials, anew at every launch. Rejects with a reason of one line, or the signal's. */
      connect?(reading: ConnectionReading): Promise<Connection>;
      /** Replaces `connect` if the action can get the secrets without the worker. */
      mounted?(namespace: string): MountedConnection | undefined;
      /** A BareMetalHost in place of the machine's BMC: what `connect` gives then has no login. */
      host?(): HostAccess | undefined;
    }
  | { readonly ok: false; readonly reason: string };

export type AllowedTarget = Target & { readonly ok: true };

/** What to do with an action that the server serves. */
export type Admitted =
  | { readonly kind: "new" }
  /** `damage` is the problem of its journal entry; `entry` may then be made from what the server says. */
  | { readonly kind: "adopt"; readonly entry: JournalEntry; readonly damage?: string }
  | { readonly kind: "skip" };

export interface AdmissionOptions {
  /** Whether an action may run, without regard to its machine. */
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  readonly recording: RecorderOptions;
  readonly reports: FinalReports;
  readonly reporter: Reporter;
  readonly conclusion: Conclusion;
  readonly observer: Pick<Observer, "action">;
}

/** If the server still serves an action that it knows has ended, its cache is stale by seconds. */
const STALE_PAUSE_MS = 1_000;
/** How long a cache may serve an action as it was before its start or its end. */
export const STALE_AT_MOST_MS = 15_000;

const NOTHING_LEFT = { remove: async () => undefined };

/** The first step: is the action known, and may it run? */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Decides by the pending reports and the journal. */
  async admit(action: Action, signals: StopSignals): Promise<Admitted> {
    const { recording, reports } = this.#options;
    const { journal } = recording;
    const key = actionKey(action);
    if (!(await reports.mayBegin(action, journal.find(key) === undefined))) return { kind: "skip" };
    const known = journal.find(key);
    const damage = journal.damageOf(key);
    if (known && !isSettled(known)) return { kind: "adopt", entry: known, ...defined({ damage }) };
    if (known && !(await this.#forgetIfOtherRun(known, action, signals))) return { kind: "skip" };
    if (damage === undefined) return { kind: "new" };
    const target = this.targetOf(action);
    // Adopted even if it may not run now. Its machine is then unknown, and so are its secrets.
    const entry = target.ok ? newEntry(recording, action, target) : newEntry(recording, action, {}, true);
    return { kind: "adopt", entry, damage };
  }

  /** Decides by policy and inventory, for the action and each of its hooks. */
  targetOf(action: Action): Target {
    const target = this.#targetOf(action);
    if (!target.ok) return target;
    for (const hook of hooksOf(action)) {
      const other = this.#targetOf(hook.action);
      if (!other.ok) return { ok: false, reason: `${hook.name}: ${other.reason}` };
      if (other.lockKey !== target.lockKey) {
        return { ok: false, reason: `${hook.name}: is for another machine than the action` };
      }
    }
    return target;
  }

  accepted(action: Action, { machine }: AllowedTarget): void {
    const { observer, recording } = this.#options;
    const at = new Date(recording.clock.now());
    observer.action({ kind: "taken", action: seenAction(action), ...defined({ machine }), at });
  }

  /** A denied action starts and fails, as the server expects of every action. */
  async refuse(action: Action, reason: string, signals: StopSignals): Promise<Outcome | undefined> {
    const { conclusion, observer, recording, reporter } = this.#options;
    recording.log.warn({ ...fieldsOf(action), image: action.image, reason }, "action refused");
    const now = new Date(recording.clock.now());
    observer.action({ kind: "refused", action: seenAction(action), reason, at: now });
    const outcome = failedLaunch("usage", reason, now, now);
    const status = { action, state: "running", startedAt: now, message: "running" } as const;
    if ((await reporter.running(status, signals.stop)) !== "acknowledged") return undefined;
    await conclusion.refused(action, outcome, now, signals.cancel);
    return outcome;
  }

  #targetOf(action: Action): Target {
    if (action.unreadable !== undefined) return { ok: false, reason: action.unreadable };
    const { locate, permit } = this.#options;
    const permission = permit(action);
    return permission.allowed ? locate(action) : { ok: false, reason: permission.reason };
  }

  /**
   * Forgets the run whose end is settled if the server now serves another one. Resolves to whether it did. A recreated
   * workflow may have the same IDs: it is another run if the server has no start of it, unless it may come from a stale cache.
   */
  async #forgetIfOtherRun(known: SettledEntry, { begun }: Action, signals: StopSignals): Promise<boolean> {
    const { journal, log } = this.#options.recording;
    const { key, action, machine, end } = known;
    const fields = { ...fieldsOf(action, machine), state: end.state };
    if (action.idMayReturn && journal.ageMs(key) < STALE_AT_MOST_MS) {
      log.debug(fields, "stale action skipped: server cache is behind");
      return false;
    }
    if (action.idMayReturn && !begun) return this.#forget(known, signals);
    log.warn(fields, "duplicate action skipped: already ended");
    await this.#reportAgain(known, fields, signals);
    return false;
  }

  /** The server serves an action whose end is settled: it does not know it, or its cache is stale. The end is reported until it is settled again. */
  async #reportAgain(known: SettledEntry, fields: LogFields, { stop, cancel }: StopSignals): Promise<void> {
    const { conclusion, recording } = this.#options;
    const recorder = new ActionRecorder(recording, known);
    await recorder.reopened();
    await conclusion.reportEnd(known.action, statusOf(known), NOTHING_LEFT, { recorder, fields }, cancel);
    await recording.clock.sleep(STALE_PAUSE_MS, stop).catch(() => undefined);
  }

  /** Forgets a run before another one with the same IDs begins. Resolves to false if that cannot be written. */
  async #forget({ key, action, machine }: SettledEntry, { stop }: StopSignals): Promise<boolean> {
    const { recording } = this.#options;
    try {
      await recording.journal.remove(key);
      return true;
    } catch (thrown) {
      await notRecorded(recording, thrown, fieldsOf(action, machine), stop);
      return false;
    }
  }
}
