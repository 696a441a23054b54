import type { Clock } from "../../../shared/clock.ts";
import { type Progress, progressOf } from "../../../shared/contract/progress.ts";
import { foldLine, oneLine } from "../../../shared/contract/result.ts";
import type { Logger } from "../../../shared/logger.ts";
import { shortened } from "../../../shared/printable.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import { isSpansLine } from "../../../shared/tracing/variables.ts";
import type { LogFields, LogLine, Outcome } from "../action/action.ts";
import { hardwareSeen } from "../action/hardware-seen.ts";
import { logActionLine, readLogLine } from "../action/log-line.ts";
import { factsSeen } from "../action/machine-facts.ts";
import type { Observers, SeenAction } from "../action/observer.ts";
import type { DroppedOutput, OutputOptions } from "../ports/runtime.ts";
import { LogTail } from "./log-tail.ts";

const LONGEST_PROGRESS = 200;

export interface ActionOutputOptions {
  readonly action: SeenAction;
  readonly fields: LogFields;
  /** Redacts the secrets that were given to the action. */
  readonly redact: Redactor;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Observers;
}

/** Sends the output of one action to the log and the observers, and adds its last lines to the outcome. */
export class ActionOutput {
  readonly #options: ActionOutputOptions;
  readonly #tail = new LogTail();
  #dropped: DroppedOutput | undefined;

  constructor(options: ActionOutputOptions) {
    this.#options = options;
  }

  get terms(): OutputOptions {
    return {
      onLog: (line) => this.#take(line),
      redactor: this.#options.redact,
      onDropping: (dropped) => this.#startDropping(dropped),
      onProgress: (progress) => this.#show(progress),
    };
  }

  /** Returns the outcome with its message redacted, on one line and, after a failure, with the last lines of the log. */
  complete(outcome: Outcome): Outcome {
    const { fields, log, redact } = this.#options;
    if (this.#dropped) {
      const { lines, bytes } = this.#dropped;
      log.warn({ ...fields, lines, bytes }, "action output dropped: over budget");
    }
    const message = oneLine(redact(outcome.message));
    const machineFacts = outcome.result && factsSeen(outcome.result, redact);
    const hardware = outcome.result && hardwareSeen(outcome.result, redact);
    return this.#tail.addTo({ ...outcome, message, machineFacts, hardware });
  }

  /** Handles one line, which is already redacted. */
  #take(line: LogLine): void {
    const { action, clock, fields, log, observer } = this.#options;
    if (isSpansLine(line.line)) {
      observer.spans({ action, text: line.line });
      return;
    }
    // The last progress does not explain a failure.
    if (!this.#takeProgress(line.line)) this.#tail.take(line);
    logActionLine(log, fields, line);
    observer.action({ kind: "line", action, line, at: new Date(clock.now()) });
  }

  #takeProgress(line: string): boolean {
    if (!line.includes('"progress"')) return false;
    const { message, fields, time } = readLogLine(line);
    const progress = progressOf(shortened(foldLine(message), LONGEST_PROGRESS), fields);
    if (progress) this.#show(progress, time);
    return progress !== undefined;
  }

  #show(progress: Progress | undefined, at = new Date(this.#options.clock.now())): void {
    const { action, observer } = this.#options;
    observer.action({ kind: "progress", action, progress, at });
  }

  #startDropping(dropped: DroppedOutput): void {
    const { fields, log } = this.#options;
    this.#dropped = dropped;
    log.warn(fields, "action output over budget, dropping lines");
  }
}
