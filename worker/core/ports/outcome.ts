import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { errorClassOf } from "../../../shared/contract/exit-code.ts";
import { type ActionResult, foldLine, oneLine } from "../../../shared/contract/result.ts";
import type { StopReason } from "../../../shared/deadline.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Outcome } from "../action/action.ts";
import { readLogLine } from "../action/log-line.ts";
import type { EndedAction } from "./runtime.ts";

export interface Ending {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly stopReason?: StopReason | undefined;
  readonly outOfMemory?: boolean | undefined;
  readonly result?: ActionResult | undefined;
  readonly lastLines: readonly string[];
  readonly timeoutMs: number;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
}

/**
 * Concludes an action's outcome. Success requires exit code 0, no failed result and enough memory. Images of other projects
 * write no result, and a wrapper may hide that a child was killed for lack of memory. An action that reported ok and exited
 * with 0 while it was being stopped succeeded, because the machine is in the wanted state. The message is one line of any
 * length: secrets must be redacted before it is shortened.
 */
export function concludeOutcome(ending: Ending): Outcome {
  const { exitCode, result, startedAt, stoppedAt } = ending;
  const reportedFailure = result?.ok === false;
  const finished =
    exitCode === 0 && !ending.outOfMemory && !reportedFailure && (result !== undefined || !ending.stopReason);
  const common = {
    exitCode,
    result,
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

/** The outcome of an action that did not start, or of one whose end is unknown. */
export function failedLaunch(
  errorClass: ErrorClass,
  message: string,
  startedAt: Date,
  now = new Date(),
): Outcome {
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

/** The outcome of an action whose container is gone. `why` is one line. */
export function vanishedOutcome(
  why: string,
  { result, lastLines, startedAt }: Pick<Ending, "result" | "lastLines" | "startedAt">,
): Outcome {
  const reason = result?.message ?? lastLinesOf(lastLines);
  const said = result ? "; it had reported" : "; its last lines";
  const message = foldLine(reason === "" ? why : `${why}${said}: ${reason}`);
  const common = { startedAt, stoppedAt: new Date(), timedOut: false, killed: true, result };
  return { ...common, ok: false, class: "state", message };
}

export function nothingToRemove(outcome: Outcome): EndedAction {
  return { outcome, remove: async () => undefined };
}

/** An outcome of `failedLaunch` with nothing to remove. */
export function failedAction(...failure: Parameters<typeof failedLaunch>): EndedAction {
  return nothingToRemove(failedLaunch(...failure));
}

/** Whether a signal ended the action. Docker reports a signal as 128 plus its number, and so does an action that caught one. */
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
  const reason = result?.message ?? lastLinesOf(ending.lastLines);
  const because = reason === "" ? "" : `: ${reason}`;
  if (stopReason === "timeout") {
    return `timed out after ${formatSeconds(ending.timeoutMs)}${because}`;
  }
  if (stopReason === "cancelled") return `cancelled by the worker${because}`;
  if (outOfMemory) {
    return ending.exitCode === 0
      ? `a process of the action was killed, out of memory, although the action exited 0${because}`
      : `killed, out of memory${because}`;
  }
  if (result?.ok === false) return result.message;
  const end = ending.signal ? `killed by ${ending.signal}` : exitOf(ending);
  return result ? `${end} although it said${because}` : `${end}${because}`;
}

function lastLinesOf(lastLines: readonly string[]): string {
  return lastLines.map((line) => readLogLine(line).message).join(" | ");
}

/** An engine may learn only after the exit that memory ran out. It then reports 128 + SIGKILL alone (containerd#12372). */
function exitOf({ exitCode }: Ending): string {
  if (exitCode === 137) return "exited 137 (killed, perhaps out of memory)";
  return `exited ${exitCode ?? "without a code"}`;
}
