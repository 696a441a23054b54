import type { Clock } from "../shared/clock.ts";
import { oneLine } from "../shared/contract/result.ts";
import type { Logger } from "../shared/logger.ts";
import { isSpansLine } from "../shared/tracing/variables.ts";
import type { Outcome } from "./action.ts";
import type { LogFields } from "./action-status.ts";
import { LastLines } from "./last-lines.ts";
import type { Observer, SeenAction } from "./observer.ts";
import { logActionLine } from "./runtime/log-line.ts";
import type { LogLine } from "./runtime/runtime.ts";

export interface ActionOutputOptions {
  readonly action: SeenAction;
  readonly fields: LogFields;
  /** Takes the secrets that the action was given out of text. */
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Pick<Observer, "action" | "spans">;
}

/** Where what one action says goes, without its secrets, whichever worker launched it: log, onlookers, and its message. */
export class ActionOutput {
  readonly #options: ActionOutputOptions;
  readonly #lastLines = new LastLines();

  constructor(options: ActionOutputOptions) {
    this.#options = options;
  }

  /** One line as it came. */
  take({ stream, line: raw }: LogLine): void {
    const { action, clock, fields, log, observer, redact } = this.#options;
    const line = { stream, line: redact(raw) };
    if (isSpansLine(line.line)) {
      observer.spans({ action, text: line.line });
      return;
    }
    this.#lastLines.take(line);
    logActionLine(log, fields, line);
    observer.action({ kind: "line", action, line, at: new Date(clock.now()) });
  }

  /** The outcome with its message as it may be told: one line, and what the log says besides when it failed. */
  complete(outcome: Outcome): Outcome {
    const message = oneLine(this.#options.redact(outcome.message));
    return this.#lastLines.addTo({ ...outcome, message });
  }
}
