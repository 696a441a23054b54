import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { defined } from "../../../shared/defined.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, actionKey, fieldsOf, type LogFields } from "../action/action.ts";
import { type Hook, hookReport } from "../action/hooks.ts";
import { seenAction } from "../action/observer.ts";
import { failedAction } from "../runtime/outcome.ts";
import { type EarlierRun, type EndedAction, type LaunchRequest, NotLaunched } from "../runtime/runtime.ts";
import { type LaunchCredentials, readCredentials } from "./action-credentials.ts";
import { ActionOutput } from "./action-output.ts";
import type { ActionRecord } from "./action-record.ts";
import { targetOf } from "./admit.ts";
import type { Execution } from "./execution.ts";
import type { AllowedTarget } from "./executor-options.ts";

/** One run of an action's image: of the action itself, with `onLaunch`, or of a hook. */
interface Run extends Pick<LaunchRequest, "onLaunch" | "timeoutMs"> {
  readonly startedAt: Date;
  readonly fields: LogFields;
}

/** Reads the credentials, launches an action that is on record, and follows it to its end. Throws `NotLaunched` and `Detached`. */
export async function launch(
  execution: Execution,
  action: Action,
  target: AllowedTarget,
  record: ActionRecord,
  cancel: AbortSignal,
): Promise<EndedAction> {
  const { hints, pace } = execution;
  await pace.next();
  const ended = await run(execution, action, target, cancel, {
    startedAt: record.startedAt,
    timeoutMs: record.entry.timeoutMs,
    fields: record.fields,
    async onLaunch(handle) {
      await record.launched(handle);
      // The engine may have taken minutes for the image, the disk for the record.
      confirm(execution, action, target);
    },
  });
  // Without a connection, what an image says about a BMC is not from the BMC.
  if (target.connect) hints.learn(target.machine, ended.outcome.result?.hint);
  return ended;
}

/** Beyond that they are seen anew. */
const MOST_EARLIER_RUNS = 1_000;

/**
 * Removes what an earlier run under the same ID left, before the server has a start of this one: whatever exists once it has one belongs
 * to this run, and is adopted even if the journal is lost. Throws `NotLaunched` if it cannot.
 */
export async function removeEarlierRun(
  execution: Execution,
  action: Action,
  machine: string | undefined,
  stop: AbortSignal,
): Promise<void> {
  const { log, runtime } = execution;
  const { ownerOfLaunch } = action.returningIds ?? {};
  if (!ownerOfLaunch) return;
  let reason: string;
  try {
    const earlier = await runtime.earlierRun?.(action, stop);
    if (!earlier) return;
    const ageMs = Math.max(earlier.ageMs, seenForMs(execution, action, earlier));
    const owner = ownerOfLaunch({ ...earlier, ageMs });
    if (owner === "this-run") return;
    if (owner === "earlier-run") return await earlier.remove(stop);
    reason = earlier.hasEnded ? "it has just ended" : "it has not ended";
  } catch (thrown) {
    reason = textOf(thrown);
  }
  log.info({ ...fieldsOf(action, machine), reason }, "action not started: earlier run with its ID remains");
  throw new NotLaunched("an earlier run with its ID remains");
}

/**
 * How long it had been there when the server served the action, as far as this worker saw: the server does so after the last time
 * that it was seen. The wall clock may be set back behind the launch.
 */
function seenForMs({ clock, earlierRuns }: Execution, action: Action, { handle }: EarlierRun): number {
  const id = `${actionKey(action)} ${JSON.stringify(handle)}`;
  const lastMs = clock.monotonicMs();
  const seen = earlierRuns.get(id) ?? { firstMs: lastMs, lastMs };
  if (earlierRuns.size >= MOST_EARLIER_RUNS) earlierRuns.clear();
  earlierRuns.set(id, { ...seen, lastMs });
  return seen.lastMs - seen.firstMs;
}

/**
 * Runs a hook between the action's end and its report, as the worker of tink 0.12 does: before the report, no other action
 * begins at the machine. A hook has as much time as the action had; in tink 0.12 it has no limit. Resolves to the hook's part
 * of the status message.
 */
export async function runHook(
  execution: Execution,
  hook: Hook,
  target: AllowedTarget,
  record: ActionRecord,
  cancel: AbortSignal,
): Promise<string> {
  const { clock, log } = execution;
  const fields = { ...record.fields, hook: hook.name };
  log.info(fields, "hook started");
  const about = { startedAt: new Date(clock.now()), timeoutMs: record.entry.timeoutMs, fields };
  const ended = await run(execution, hook.action, target, cancel, about);
  const { ok, message } = ended.outcome;
  log[ok ? "info" : "warn"]({ ...fields, result: message }, ok ? "hook succeeded" : "hook failed");
  await record.remove(ended, fields);
  return hookReport(hook, ended.outcome);
}

async function run(
  execution: Execution,
  action: Action,
  target: AllowedTarget,
  cancel: AbortSignal,
  { fields, onLaunch, startedAt, timeoutMs }: Run,
): Promise<EndedAction> {
  const { clock, log, observer, runtime, traceEnvironment } = execution;
  let credentials: LaunchCredentials;
  // A hook runs in any case: its action was this worker's.
  if (onLaunch) confirm(execution, action, target);
  try {
    // A hook belongs to an action that began before.
    const whilePaused = onLaunch ? undefined : (true as const);
    const reading = { timeoutMs, ...defined({ secretInputs: action.secrets?.inputs, whilePaused }) };
    credentials = await readCredentials(execution, target, reading, cancel);
  } catch (thrown) {
    const { class: errorClass, message } = BmcError.from(thrown);
    return failedAction(errorClass, message, startedAt, new Date(clock.now()));
  }
  const { redact, learn, ...access } = credentials;
  // Reading them may have taken minutes.
  if (onLaunch) confirm(execution, action, target);
  const seen = seenAction(action);
  const output = new ActionOutput({ action: seen, fields, redact, clock, log, observer });
  const request = {
    action,
    timeoutMs,
    environment: traceEnvironment(seen),
    ...access,
    ...defined({ terms: target.terms, lockKey: target.lockKey, onLaunch, host: target.host?.() }),
    ...output.terms,
  };
  const ended = await runtime.run(request, cancel);
  learn(ended.outcome);
  return { ...ended, outcome: output.complete(ended.outcome) };
}

/**
 * Decides again, at the last moment before a password is read and before the action can act: policy, inventory, pause and leader may
 * have changed since. Throws `NotLaunched`; the server then serves the action again, and it is admitted or refused anew.
 */
function confirm(execution: Execution, action: Action, before: AllowedTarget): void {
  stillLeading(execution);
  const now = targetOf(execution, action);
  if (!now.ok) throw new NotLaunched(now.reason);
  if (now.paused !== undefined) throw new NotLaunched(now.paused);
  if (now.lockKey !== before.lockKey) {
    throw new NotLaunched("its machine's BMC has another address now");
  }
}

/** Credentials, engine and disk may each take minutes. Throws `NotLaunched`. */
export function stillLeading({ isLeading }: Execution): void {
  if (!isLeading()) throw new NotLaunched("another worker may lead");
}
