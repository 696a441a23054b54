import type { Clock } from "../../shared/clock.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, ActionId, ActionStatus, Delivery, Outcome } from "../action/action.ts";
import { endStatus, type LogFields } from "../action/action-status.ts";
import { type Observer, seenAction } from "../action/observer.ts";
import type { EndedAction } from "../runtime/runtime.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { FinalReports } from "./final-reports.ts";

/** What is left to know of an action at its end. */
type EndedId = ActionId & Pick<Action, "image">;

/** What is known of an action when it ends. */
export interface Concluding {
  readonly startedAt: Date;
  readonly recorder: ActionRecorder;
  readonly fields: LogFields;
  readonly machine?: string;
  /**
   * Runs once the end is on record: a worker that dies in it reports the end and does not repeat it. Resolves to what
   * the status message says of it.
   */
  readonly after?: () => Promise<string>;
}

export interface ConclusionOptions {
  readonly reports: FinalReports;
  readonly clock: Clock;
  readonly log: Logger;
  /** The runtime's name. */
  readonly runtime: string;
  readonly observer: Pick<Observer, "action">;
}

const REMOVE_TIMEOUT_MS = 30_000;

/** How an action's end is written down, reported, and cleared away, in this order. */
export class Conclusion {
  readonly #options: ConclusionOptions;

  constructor(options: ConclusionOptions) {
    this.#options = options;
  }

  /** From the end of an action to its report, and then the removal of what is left of it: see `reportEnd`. */
  async conclude(
    action: EndedId,
    ended: EndedAction,
    { startedAt, recorder, fields, machine, after }: Concluding,
    cancel: AbortSignal,
  ): Promise<Outcome> {
    const { outcome } = ended;
    this.#logEnd(outcome, startedAt, fields);
    this.#tellEnd(action, outcome, machine);
    let status = endStatus(action, outcome, startedAt, machine);
    await recorder.ended(status);
    if (after) {
      status = { ...status, message: oneLine(`${status.message}; ${await after()}`) };
      await recorder.ended(status);
    }
    await this.reportEnd(action, status, ended, { recorder, fields }, cancel);
    return outcome;
  }

  /** The end of an action of which nothing was done. */
  async refused(action: EndedId, outcome: Outcome, startedAt: Date, cancel: AbortSignal): Promise<void> {
    this.#tellEnd(action, outcome);
    const status = endStatus(action, outcome, startedAt);
    const finish = async (delivery: Delivery) => this.#tellDelivery(action, status, delivery);
    await this.#options.reports.deliver({ status, cancel, finish });
  }

  /**
   * Reports an end that is on record, and then removes what is left of the action. Resolves when that is done, or after a few
   * seconds: the rest goes on in the background.
   */
  async reportEnd(
    action: EndedId,
    status: ActionStatus,
    ended: Pick<EndedAction, "remove">,
    { recorder, fields }: Pick<Concluding, "recorder" | "fields">,
    cancel: AbortSignal,
  ): Promise<void> {
    const finish = async (delivery: Delivery) => {
      this.#tellDelivery(action, status, delivery);
      // What is not acknowledged is kept, so that a restarted worker finds it instead of running it again.
      if (delivery === "unanswered") return;
      if (await recorder.acknowledged()) await this.remove(ended, fields);
    };
    await this.#options.reports.deliver({ status, cancel, finish });
  }

  #tellDelivery(action: EndedId, status: ActionStatus, delivery: Delivery): void {
    const { clock, observer } = this.#options;
    const at = new Date(clock.now());
    observer.action({ kind: "reported", action: seenAction(action), delivery, status, at });
  }

  #tellEnd(action: EndedId, outcome: Outcome, machine?: string): void {
    const { observer, runtime } = this.#options;
    const about = { action: seenAction(action), runtime, outcome };
    observer.action({ kind: "ended", ...about, ...(machine && { machine }) });
  }

  async remove(ended: Pick<EndedAction, "remove">, fields: LogFields): Promise<void> {
    try {
      await ended.remove(AbortSignal.timeout(REMOVE_TIMEOUT_MS));
    } catch (thrown) {
      const error = textOf(thrown);
      this.#options.log.error({ ...fields, error }, "cleanup failed");
    }
  }

  #logEnd(outcome: Outcome, startedAt: Date, fields: LogFields): void {
    const facts = {
      ...fields,
      ...(outcome.class ? { class: outcome.class } : {}),
      ...defined({ exitCode: outcome.exitCode }),
      durationMs: outcome.stoppedAt.getTime() - startedAt.getTime(),
      result: outcome.message,
    };
    if (outcome.ok) this.#options.log.info(facts, "action succeeded");
    else this.#options.log.warn(facts, "action failed");
  }
}
