import { defined } from "../../../shared/defined.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import { type Action, actionKey, type Outcome } from "../action/action.ts";
import { hookFor } from "../action/hooks.ts";
import { seenAction } from "../action/observer.ts";
import { Detached, type EndedAction, LaunchNotRecorded, NotLaunched } from "../runtime/runtime.ts";
import { ActionRecord } from "./action-record.ts";
import { admit, notRecorded, refuse } from "./admit.ts";
import { adopt } from "./adopt.ts";
import type { Execution } from "./execution.ts";
import type { AllowedTarget, StopSignals } from "./executor-options.ts";
import { launch, removeEarlierRun, runHook, stillLeading } from "./launch.ts";
import { PauseWait } from "./pause-wait.ts";
import { checkWorkflow } from "./workflow-check.ts";

/**
 * Takes an action that the server serves from its admission to its report. Resolves to the outcome, or to undefined if the action was
 * not run here: the server then serves it again. Each step that cannot be undone is on record first (`STATES`), so that the next
 * worker continues after a crash at any point.
 */
export async function runAction(
  execution: Execution,
  action: Action,
  signals: StopSignals,
): Promise<Outcome | undefined> {
  // Admit: is it known, may it run, and where?
  const admitted = await admit(execution, action, signals);
  if (admitted.kind === "skip") return undefined;
  if (admitted.kind === "adopt") {
    return adopt(execution, admitted.entry, signals, defined({ damage: admitted.damage }));
  }
  const { clock, observer, turns } = execution;
  const seen = seenAction(action);
  const pause = new PauseWait(execution, action);
  let isTaken = false;
  let outcome: Outcome | undefined;
  try {
    for (;;) {
      const target = pause.target();
      if (!target.ok) {
        outcome = await refuse(execution, action, target, signals);
        return outcome;
      }
      const taken = { kind: "taken", action: seen, ...defined({ machine: target.machine }) } as const;
      if (!isTaken) observer.action({ ...taken, at: new Date(clock.now()) });
      isTaken = true;
      if (target.paused !== undefined) {
        const stays = await pause.wait(target.paused, target.machine, signals.stop);
        if (stays && execution.isLeading()) continue;
        return undefined;
      }

      // Wait for its turn. Policy and inventory may change meanwhile.
      const inTurn = async () => {
        if (!execution.isLeading()) return undefined;
        const now = pause.target();
        if (!now.ok) return refuse(execution, action, now, signals);
        if (now.paused !== undefined) return "paused";
        // Another BMC needs another turn: the server serves the action again.
        return now.lockKey === target.lockKey ? run(execution, action, now, signals) : undefined;
      };
      const purpose = { actionKey: actionKey(action), workflowId: action.workflowId };
      const ended = await turns.take(target, signals.stop, inTurn, purpose);
      if (ended === "paused") continue;
      outcome = ended;
      return outcome;
    }
  } finally {
    if (!outcome) observer.action({ kind: "returned", action: seen, at: new Date(clock.now()) });
  }
}

/** From its turn to its report. Resolves to undefined if nothing was launched, or if another worker adopts the action. */
async function run(
  execution: Execution,
  action: Action,
  target: AllowedTarget,
  signals: StopSignals,
): Promise<Outcome | undefined> {
  const { log, observer, reports, runtime } = execution;
  const { stop } = signals;
  const record = ActionRecord.admitted(execution, action, target);
  const { fields, running } = record;
  let ended: EndedAction;
  let cancel: AbortSignal;
  try {
    // Record.
    await removeEarlierRun(execution, action, target.machine, stop);
    await record.begin();
    // The disk may have taken minutes.
    stillLeading(execution);

    // Report RUNNING.
    const delivery = await reports.running(running, stop);
    if (delivery !== "acknowledged") {
      const isFirst = !reports.isUnavailable(action);
      logOutage(log, isFirst, { ...fields, delivery }, "action not started: start report failed");
      await record.forget();
      return undefined;
    }
    log.info({ ...fields, image: action.image, runtime: runtime.name }, "action started");
    const { startedAt, machine } = running;
    const about = { startedAt, timeoutMs: record.entry.timeoutMs, ...defined({ machine }) };
    const started = { kind: "started", action: seenAction(action), runtime: runtime.name } as const;
    observer.action({ ...started, ...about, adopted: false });

    // Launch and follow.
    const check = checkWorkflow(execution, running, signals.cancel);
    cancel = check.cancel;
    ended = await launch(execution, action, target, record, cancel).finally(check.end);
  } catch (thrown) {
    if (thrown instanceof Detached) {
      log.info({ ...fields, runtime: runtime.name }, "detached from action");
    } else if (thrown instanceof NotLaunched) {
      log.info({ ...fields, reason: thrown.message }, "action not started");
      await record.forget();
      if (thrown instanceof LaunchNotRecorded) await notRecorded(execution, thrown, fields, stop);
    } else throw thrown;
    return undefined;
  }

  // Conclude and report.
  const hook = hookFor(action, ended.outcome);
  const after = hook && (() => runHook(execution, hook, target, record, cancel));
  return record.conclude(ended, cancel, after);
}
