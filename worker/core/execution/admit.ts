import { isDeepStrictEqual } from "node:util";
import { defined } from "../../../shared/defined.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, actionKey, fieldsOf, type LogFields, type Outcome } from "../action/action.ts";
import { hooksOf } from "../action/hooks.ts";
import { seenAction } from "../action/observer.ts";
import { isSettled, isUnreported, type JournalEntry, type SettledEntry } from "../journal/entry.ts";
import { failedLaunch } from "../runtime/outcome.ts";
import { ActionRecord, newEntry } from "./action-record.ts";
import type { Execution } from "./execution.ts";
import type { RefusedTarget, StopSignals, Target } from "./executor-options.ts";

/** What to do with an action that the server serves. */
export type Admitted =
  | { readonly kind: "new" }
  /** `damage` is the problem of its journal entry; `entry` may then be made from what the server says. */
  | { readonly kind: "adopt"; readonly entry: JournalEntry; readonly damage?: string }
  | { readonly kind: "skip" };

/** If the server still serves an action that it knows has ended, its cache is stale by seconds. */
const STALE_PAUSE_MS = 1_000;
/** A full disk may be cleaned up; until then the server serves the action again. */
const UNWRITABLE_PAUSE_MS = 5_000;

/** Is the action known? Decides by the pending reports and the journal. */
export async function admit(execution: Execution, action: Action, signals: StopSignals): Promise<Admitted> {
  const { journal, reports } = execution;
  const key = actionKey(action);
  if (!(await reports.mayBegin(action, journal.find(key) === undefined))) return { kind: "skip" };
  const known = journal.find(key);
  const damage = journal.damageOf(key);
  if (known && !isSettled(known)) {
    const kept = await keptEntry(execution, known, action, signals.stop);
    if (kept !== "known") return { kind: kept };
    return { kind: "adopt", entry: known, ...defined({ damage }) };
  }
  if (known && !(await forgetIfOtherRun(execution, known, action, signals))) return { kind: "skip" };
  if (damage === undefined) return { kind: "new" };
  const target = targetOf(execution, action);
  // Adopted even if it may not run now. Its machine is then unknown, and so are its secrets.
  const entry = target.ok ? newEntry(execution, action, target) : newEntry(execution, action, {}, true);
  return { kind: "adopt", entry, damage };
}

/**
 * Forgets an end that this worker recorded before another leader launched the action: it is not the action's. Such an action is new here,
 * and its Job is found by its name. `skip` if that cannot be known now.
 */
async function keptEntry(
  { clock, isShared, journal, log, runtime }: Execution,
  known: JournalEntry,
  action: Action,
  stop: AbortSignal,
): Promise<"known" | "new" | "skip"> {
  if (!isUnreported(known) || isShared?.(action) !== true) return "known";
  try {
    const launched = await runtime.earlierRun?.(action, stop);
    if (!launched || isDeepStrictEqual(launched.handle, known.handle)) return "known";
    await journal.remove(known.key);
    return "new";
  } catch (thrown) {
    const error = textOf(thrown);
    log.info({ ...fieldsOf(action, known.machine), error }, "report of an earlier run postponed");
    await clock.sleep(STALE_PAUSE_MS, stop).catch(() => undefined);
    return "skip";
  }
}

/** May it run, and where? Decides by policy and inventory, for the action and each of its hooks. */
export function targetOf(execution: Execution, action: Action): Target {
  const target = ownTargetOf(execution, action);
  if (!target.ok) return target;
  for (const hook of hooksOf(action)) {
    const other = ownTargetOf(execution, hook.action);
    if (!other.ok) return { ok: false, reason: `${hook.name}: ${other.reason}` };
    if (other.lockKey !== target.lockKey) {
      return { ok: false, reason: `${hook.name}: is for another machine than the action` };
    }
  }
  return target;
}

function ownTargetOf({ locate, permit }: Execution, action: Action): Target {
  if (action.unreadable !== undefined) return { ok: false, reason: action.unreadable };
  const permission = permit(action);
  return permission.allowed ? locate(action) : { ok: false, reason: permission.reason };
}

/** A denied action starts and fails, as the server expects of every action. */
export async function refuse(
  execution: Execution,
  action: Action,
  { reason, class: errorClass = "usage" }: Pick<RefusedTarget, "class" | "reason">,
  { stop, cancel }: StopSignals,
): Promise<Outcome | undefined> {
  const { log, observer, reports } = execution;
  log.warn({ ...fieldsOf(action), image: action.image, reason }, "action refused");
  const record = ActionRecord.admitted(execution, action, {});
  const { startedAt } = record;
  observer.action({ kind: "refused", action: seenAction(action), reason, at: startedAt });
  if ((await reports.running(record.running, stop)) !== "acknowledged") return undefined;
  const outcome = failedLaunch(errorClass, reason, startedAt, startedAt);
  await record.deny(outcome, cancel);
  return outcome;
}

/** Logs that an action did not start, and waits: the server serves it again, and by then the disk may be writable. */
export async function notRecorded(
  { clock, log }: Execution,
  thrown: unknown,
  fields: LogFields,
  stop: AbortSignal,
): Promise<void> {
  log.error({ ...fields, error: textOf(thrown) }, "action not started: journal write failed");
  await clock.sleep(UNWRITABLE_PAUSE_MS, stop).catch(() => undefined);
}

/** Forgets the run whose end is settled if the server now serves another one. Resolves to whether it did. */
async function forgetIfOtherRun(
  execution: Execution,
  known: SettledEntry,
  { returningIds }: Action,
  { stop, cancel }: StopSignals,
): Promise<boolean> {
  const { clock, journal, log, sweep } = execution;
  const { key, action, machine, end } = known;
  const fields = { ...fieldsOf(action, machine), state: end.state };
  const owner = returningIds?.ownerOfEnd(journal.ageMs(key)) ?? "this-run";
  if (owner === "unknown") {
    log.debug(fields, "stale action skipped: server cache is behind");
    return false;
  }
  if (owner === "earlier-run") {
    try {
      await journal.remove(key);
      return true;
    } catch (thrown) {
      await notRecorded(execution, thrown, fieldsOf(action, machine), stop);
      return false;
    }
  }
  log.warn(fields, "duplicate action skipped: already ended");
  // The server does not know the end, or its cache is stale: the end is reported until it is settled again.
  const record = new ActionRecord(execution, known);
  await record.reopen();
  // An earlier worker may have died before it removed what it had launched.
  await record.reportEnd({ remove: async () => sweep.again() }, cancel);
  await clock.sleep(STALE_PAUSE_MS, stop).catch(() => undefined);
  return false;
}
