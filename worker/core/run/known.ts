import { isDeepStrictEqual } from "node:util";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, fieldsOf, type LogFields } from "../action/action.ts";
import { isSettled, isUnreported, type JournalEntry, type SettledEntry } from "../action/entry.ts";
import type { ActionRun } from "./action-run.ts";
import type { RunServices, StopSignals } from "./services.ts";

/** What the worker knows about an action that the server serves. */
export type Known =
  | { readonly kind: "new" }
  /** An earlier worker may have launched it. The run continues from its entry, which may be damaged. */
  | { readonly kind: "left"; readonly damage?: string | undefined }
  /** It may have been launched, but its entry is damaged and cannot be read. */
  | { readonly kind: "unreadable"; readonly damage: string }
  /** It must not begin now. The server serves it again. */
  | { readonly kind: "skip" };

/** If the server still serves an action whose end it knows, its cache is stale by seconds. */
const STALE_PAUSE_MS = 1_000;
/** A full disk may be cleaned up. Until then, the server serves the action again. */
const UNWRITABLE_PAUSE_MS = 5_000;

/** Looks up an action that the server serves in the pending reports and the journal. */
export async function knownOf(
  services: RunServices,
  run: ActionRun,
  action: Action,
  signals: StopSignals,
): Promise<Known> {
  const { journal, reports } = services;
  const { key } = run;
  // A new action of the workflow shows that the server has received the earlier ends.
  if (!journal.find(key)) await reports.supersede(action.workflowId);
  const entry = journal.find(key);
  const damage = journal.damageOf(key);
  if (entry && !isSettled(entry)) {
    const kept = await keptEntry(services, run, entry, action, signals.stop);
    if (kept !== "known") return { kind: kept };
    run.resume(entry);
    return { kind: "left", damage };
  }
  if (entry && !(await forgetIfOtherRun(services, run, entry, action, signals))) return { kind: "skip" };
  return damage === undefined ? { kind: "new" } : { kind: "unreadable", damage };
}

/**
 * Removes an end that was recorded before another leader launched the action, because it belongs to an earlier run. The
 * action is then new to this worker, and its Job is found by name. Resolves to `skip` if this cannot be decided now.
 */
async function keptEntry(
  { clock, journal, log, runtime }: RunServices,
  { source }: ActionRun,
  known: JournalEntry,
  action: Action,
  stop: AbortSignal,
): Promise<"known" | "new" | "skip"> {
  if (!isUnreported(known) || !source.isShared) return "known";
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

/** Removes a settled run if the server now serves another one. Resolves to whether it did. */
async function forgetIfOtherRun(
  services: RunServices,
  run: ActionRun,
  known: SettledEntry,
  { returningIds }: Action,
  { stop, cancel }: StopSignals,
): Promise<boolean> {
  const { clock, journal, log, sweep } = services;
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
      await notRecorded(services, thrown, fieldsOf(action, machine), stop);
      return false;
    }
  }
  log.warn(fields, "duplicate action skipped: already ended");
  // The server does not know the end, or its cache is stale. The end is reported until it is settled again.
  run.resume(known);
  await run.reopen();
  // An earlier worker may have died before it removed its launch.
  await run.tell(async () => sweep.again(), cancel);
  await clock.sleep(STALE_PAUSE_MS, stop).catch(() => undefined);
  return false;
}

/** Logs that an action did not start, and waits. The server serves it again, and the disk may be writable by then. */
export async function notRecorded(
  { clock, log }: RunServices,
  thrown: unknown,
  fields: LogFields,
  stop: AbortSignal,
): Promise<void> {
  log.error({ ...fields, error: textOf(thrown) }, "action not started: journal write failed");
  await clock.sleep(UNWRITABLE_PAUSE_MS, stop).catch(() => undefined);
}
