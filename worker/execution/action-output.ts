import type { Clock } from "../../shared/clock.ts";
import { oneLine } from "../../shared/contract/result.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Redactor } from "../../shared/secret-forms.ts";
import { isSpansLine } from "../../shared/tracing/variables.ts";
import type { LogLine, Outcome } from "../action/action.ts";
import type { LogFields } from "../action/action-status.ts";
import type { Observer, SeenAction } from "../action/observer.ts";
import { logActionLine } from "../runtime/log-line.ts";
import type { DroppedOutput } from "../runtime/output-budget.ts";
import type { OutputOptions } from "../runtime/runtime.ts";
import { LastLines } from "./last-lines.ts";

export interface ActionOutputOptions {
  readonly action: SeenAction;
  readonly fields: LogFields;
  /** Takes the secrets that the action was given out of text. */
  readonly redact: Redactor;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Pick<Observer, "action" | "spans">;
}

/** Where what one action prints goes, whichever worker launched it: log, observers, and its message. */
export class ActionOutput {
  readonly #options: ActionOutputOptions;
  readonly #lastLines = new LastLines();
  #dropped: DroppedOutput | undefined;

  constructor(options: ActionOutputOptions) {
    this.#options = options;
  }

  /** For the runtime. */
  get terms(): OutputOptions {
    return {
      onLog: (line) => this.#take(line),
      redactor: this.#options.redact,
      onDropping: (dropped) => this.#startDropping(dropped),
    };
  }

  /** The outcome with its message as it may be told: one line, and what the log says besides when it failed. */
  complete(outcome: Outcome): Outcome {
    const { fields, log, redact } = this.#options;
    if (this.#dropped) {
      const { lines, bytes } = this.#dropped;
      log.warn({ ...fields, lines, bytes }, "action output dropped: over budget");
    }
    return this.#lastLines.addTo({ ...outcome, message: oneLine(redact(outcome.message)) });
  }

  /** One line, without secrets. */
  #take(line: LogLine): void {
    const { action, clock, fields, log, observer } = this.#options;
    if (isSpansLine(line.line)) {
      observer.spans({ action, text: line.line });
      return;
    }
    this.#lastLines.take(line);
    logActionLine(log, fields, line);
    observer.action({ kind: "line", action, line, at: new Date(clock.now()) });
  }

  #startDropping(dropped: DroppedOutput): void {
    const { fields, log } = this.#options;
    this.#dropped = dropped;
    log.warn(fields, "action output over budget, dropping lines");
  }
}
