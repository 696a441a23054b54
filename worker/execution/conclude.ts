import { oneLine } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import { textOf } from "../../shared/text-of.ts";
import {
  type Action,
  type ActionId,
  type ActionStatus,
  type Delivery,
  type EndStatus,
  endStatus,
  type LogFields,
  type Outcome,
} from "../action/action.ts";
import { type Observer, seenAction } from "../action/observer.ts";
import type { EndedAction } from "../runtime/runtime.ts";
import type { ActionRecorder, RecorderOptions } from "./action-recorder.ts";
import type { FinalReports } from "./final-reports.ts";
import type { FinalDelivery } from "./report.ts";

type EndedId = ActionId & Pick<Action, "image">;

/** What is known of an action when it ends. */
export interface Concluding {
  readonly startedAt: Date;
  readonly recorder: ActionRecorder;
  readonly fields: LogFields;
  readonly machine?: string;
  /**
   * Runs once the end is recorded: if the worker dies in it, the next one reports the end and does not repeat it. Resolves to
   * text for the status message.
   */
  readonly after?: () => Promise<string>;
}

export interface ConclusionOptions {
  readonly reports: FinalReports;
  readonly recording: Pick<RecorderOptions, "clock" | "log" | "runtime">;
  readonly observer: Pick<Observer, "action">;
  /** Takes what could not be removed. */
  readonly onLeft: (ended: Pick<EndedAction, "remove">) => void;
}

const REMOVE_TIMEOUT_MS = 30_000;

/** Records an action's end, reports it, and removes its container or process, in this order. */
export class Conclusion {
  readonly #options: ConclusionOptions;

  constructor(options: ConclusionOptions) {
    this.#options = options;
  }

  async conclude(
    action: EndedId,
    ended: EndedAction,
    { startedAt, recorder, fields, machine, after }: Concluding,
    cancel: AbortSignal,
  ): Promise<Outcome> {
    const outcome = onThisClock(ended.outcome, startedAt, this.#options.recording.clock.now());
    this.#logEnd(outcome, startedAt, fields);
    this.#observeEnd(action, outcome, machine);
    let status = endStatus(action, outcome, startedAt, machine);
    await recorder.ended(status);
    if (after) {
      status = { ...status, message: oneLine(`${status.message}; ${await after()}`) };
      await recorder.ended(status);
    }
    await this.reportEnd(action, status, ended, { recorder, fields }, cancel);
    return outcome;
  }

  /** Records an end without reporting it: it is reported if the server serves the action again. */
  async withhold(
    action: EndedId,
    { outcome }: EndedAction,
    { startedAt, recorder, machine }: Pick<Concluding, "startedAt" | "recorder" | "machine">,
  ): Promise<void> {
    const here = onThisClock(outcome, startedAt, this.#options.recording.clock.now());
    await recorder.ended(endStatus(action, here, startedAt, machine));
  }

  /** The end of an action that was not run. */
  async refused(action: EndedId, outcome: Outcome, startedAt: Date, cancel: AbortSignal): Promise<void> {
    this.#observeEnd(action, outcome);
    const status = endStatus(action, outcome, startedAt);
    const onRejected = async () => this.#observeDelivery(action, status, "rejected");
    const finish = async (delivery: Delivery) => this.#observeDelivery(action, status, delivery);
    await this.#options.reports.deliver({ status, cancel, onRejected, finish });
  }

  /**
   * Reports a recorded end, and then removes the action. Resolves when that is done, when the server has rejected it, or after a few
   * seconds: the rest continues in the background.
   */
  async reportEnd(
    action: EndedId,
    status: EndStatus,
    ended: Pick<EndedAction, "remove">,
    { recorder, fields }: Pick<Concluding, "recorder" | "fields">,
    cancel: AbortSignal,
  ): Promise<void> {
    const onRejected = async (code: string) => {
      await recorder.rejected(code);
      this.#observeDelivery(action, status, "rejected");
    };
    const finish = async (delivery: FinalDelivery) => {
      this.#observeDelivery(action, status, delivery);
      // Until its end is settled it is kept, so that the next worker finds it instead of running it again.
      if (delivery === "unanswered") return;
      const recorded = () => recorder.settled(delivery);
      if (await recorded()) await this.remove(ended, fields);
      else this.#options.onLeft({ remove: (signal) => removeOnceRecorded(recorded, ended, signal) });
    };
    await this.#options.reports.deliver({ status, cancel, onRejected, finish });
  }

  async remove(ended: Pick<EndedAction, "remove">, fields: LogFields): Promise<void> {
    try {
      await ended.remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const { onLeft, recording } = this.#options;
      recording.log.warn({ ...fields, error: textOf(thrown) }, "cleanup failed, retrying");
      onLeft(ended);
    }
  }

  #observeDelivery(action: EndedId, status: ActionStatus, delivery: Delivery): void {
    const { observer, recording } = this.#options;
    const at = new Date(recording.clock.now());
    observer.action({ kind: "reported", action: seenAction(action), delivery, status, at });
  }

  #observeEnd(action: EndedId, outcome: Outcome, machine?: string): void {
    const { observer, recording } = this.#options;
    const { runtime } = recording;
    observer.action({ kind: "ended", action: seenAction(action), runtime, outcome, ...defined({ machine }) });
  }

  #logEnd(outcome: Outcome, startedAt: Date, fields: LogFields): void {
    const { log } = this.#options.recording;
    const facts = {
      ...fields,
      ...defined({ class: outcome.class, exitCode: outcome.exitCode }),
      durationMs: outcome.stoppedAt.getTime() - startedAt.getTime(),
      result: outcome.message,
    };
    if (outcome.ok) log.info(facts, "action succeeded");
    else log.warn(facts, "action failed");
  }
}

/** A pod's node has a clock of its own, and clocks are set: no end is before its start or in the future. */
function onThisClock(outcome: Outcome, startedAt: Date, nowMs: number): Outcome {
  const stoppedMs = outcome.stoppedAt.getTime();
  const tookMs = Math.max(0, stoppedMs - outcome.startedAt.getTime());
  const endMs = Math.max(startedAt.getTime() + tookMs, Math.min(stoppedMs, nowMs));
  return { ...outcome, startedAt: new Date(endMs - tookMs), stoppedAt: new Date(endMs) };
}

/** Rejects until it is on record that the end is settled. */
async function removeOnceRecorded(
  recorded: () => Promise<boolean>,
  ended: Pick<EndedAction, "remove">,
  signal: AbortSignal,
): Promise<void> {
  if (!(await recorded())) throw new Error("the end of its action is not recorded");
  await ended.remove(signal);
}
