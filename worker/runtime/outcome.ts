import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { errorClassOf } from "../../shared/contract/exit-code.ts";
import { type ActionResult, foldLine, oneLine } from "../../shared/contract/result.ts";
import type { StopReason } from "../../shared/deadline.ts";
import { defined } from "../../shared/defined.ts";
import { formatSeconds } from "../../shared/duration.ts";
import type { Outcome } from "../action/action.ts";
import { readLogLine } from "./log-line.ts";
import type { EndedAction } from "./runtime.ts";

/** How an action ended, as the runtime saw it. */
export interface Ending {
  readonly exitCode?: number;
  /** The name of the signal that ended it, where the runtime knows. */
  readonly signal?: string;
  readonly stopReason?: StopReason;
  readonly outOfMemory?: boolean;
  readonly result?: ActionResult;
  /** The last lines of its log, oldest first. */
  readonly lastLines: readonly string[];
  /** The time it had. */
  readonly timeoutMs: number;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
}

/**
 * What to conclude from the way an action ended. Success needs both voices: the exit code says so, and so
 * does the result, where there is one (an image of someone else leaves none). An action that said ok and left
 * with 0 while it was being stopped had reached its end, and is a success: the machine is in that state.
 * The message is one line of any length: its secrets are still to be taken out, and part of one would not be known.
 */
export function concludeOutcome(ending: Ending): Outcome {
  const { exitCode, result, startedAt, stoppedAt } = ending;
  const saidFailure = result?.ok === false;
  const finished = exitCode === 0 && !saidFailure && (result !== undefined || !ending.stopReason);
  const common = {
    ...defined({ exitCode, result }),
    startedAt,
    stoppedAt,
    killed: endedBySignal(ending),
  };
  if (finished) {
    return { ...common, ok: true, message: foldLine(result?.message ?? "exited 0"), timedOut: false };
  }
  return {
    ...common,
    ok: false,
    class: classOf(ending),
    message: foldLine(messageOf(ending)),
    timedOut: ending.stopReason === "timeout",
  };
}

/** The outcome of an action that could not be started, or of which nothing can be known. */
export function failedLaunch(errorClass: ErrorClass, message: string, startedAt: Date, now: Date): Outcome {
  return {
    ok: false,
    class: errorClass,
    message: oneLine(message),
    startedAt,
    stoppedAt: now,
    timedOut: false,
    killed: false,
  };
}

/** An ended action of which nothing is left to take away. */
export function nothingToRemove(outcome: Outcome): EndedAction {
  return { outcome, remove: async () => undefined };
}

/** Docker reports a signal as 128 plus its number, and so does an action that caught one and cleaned up. */
function endedBySignal({ exitCode, signal }: Ending): boolean {
  return signal !== undefined || (exitCode !== undefined && exitCode > 128 && exitCode <= 192);
}

function classOf({ stopReason, result, exitCode }: Ending): ErrorClass {
  if (stopReason) return stopReason;
  if (result?.ok === false) return result.class ?? "internal";
  return (exitCode === undefined ? undefined : errorClassOf(exitCode)) ?? "internal";
}

function messageOf(ending: Ending): string {
  const { stopReason, result, outOfMemory } = ending;
  const reason = result?.message ?? ending.lastLines.map((line) => readLogLine(line).message).join(" | ");
  const because = reason === "" ? "" : `: ${reason}`;
  if (stopReason === "timeout") {
    return `timed out, stopped after its ${formatSeconds(ending.timeoutMs)}${because}`;
  }
  if (stopReason === "cancelled") return `cancelled by the worker${because}`;
  if (outOfMemory) return `killed, out of memory${because}`;
  if (result?.ok === false) return result.message;
  const end = ending.signal ? `killed by ${ending.signal}` : `exited ${ending.exitCode ?? "without a code"}`;
  return result ? `${end} although it said${because}` : `${end}${because}`;
}
