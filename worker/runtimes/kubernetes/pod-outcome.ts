import { constants } from "node:os";
import { type ActionResult, foldLine, parseResultLine } from "../../../shared/contract/result.ts";
import type { StopReason } from "../../../shared/deadline.ts";
import type { Outcome } from "../../core/action/action.ts";
import { concludeOutcome, failedLaunch } from "../../core/ports/outcome.ts";
import type { WrittenOutput } from "../log-stream.ts";
import type { ObservedPod, Termination } from "./job-objects.ts";
import { disruptionOf, startFailure } from "./pod-problems.ts";

const LAST_LINES = 5;
/** Kubelets report whole seconds. */
const ROUNDING_MS = 1_000;

interface AnyEnding {
  /** Why the worker, or the Job's deadline, stopped it. */
  readonly stopReason: StopReason | undefined;
  readonly written: WrittenOutput;
  readonly timeoutMs: number;
  readonly nowMs: number;
}

export interface PodEnding extends AnyEnding {
  readonly pod: ObservedPod & { readonly isGone: boolean };
  readonly termination: Termination;
}

export function terminationResult(message: string): ActionResult | undefined {
  return parseResultLine(linesOf(message).at(-1) ?? "");
}

/** Concludes the outcome from the action's container alone, whatever else is in its pod. */
export function concludePod(ending: PodEnding): Outcome {
  const { pod, termination, timeoutMs } = ending;
  const stoppedAt = termination.finishedAt ?? new Date(ending.nowMs);
  const startedAt = termination.startedAt ?? stoppedAt;
  const unstarted = startFailure(termination);
  if (unstarted !== undefined) return failedLaunch("usage", unstarted, startedAt, stoppedAt);
  const { written } = ending;
  const result = written.result ?? terminationResult(termination.message);
  const stopReason = endedInTime(ending) ? undefined : ending.stopReason;
  const signal = signalName(termination.signal);
  const outcome = concludeOutcome({
    exitCode: termination.exitCode,
    signal,
    stopReason,
    result,
    outOfMemory: termination.reason === "OOMKilled",
    lastLines:
      written.lastLines.length > 0 ? written.lastLines : linesOf(termination.message).slice(-LAST_LINES),
    timeoutMs,
    startedAt,
    stoppedAt,
  });
  const disruption = ending.stopReason === undefined && outcome.killed ? disruptionOf(pod) : undefined;
  if (outcome.ok || disruption === undefined || termination.reason === "OOMKilled") return outcome;
  return { ...outcome, class: "internal", message: foldLine(`${disruption}; ${outcome.message}`) };
}

/** Whether the action ended in time, even if the worker learned it too late. */
function endedInTime({ stopReason, termination, timeoutMs }: PodEnding): boolean {
  const { startedAt, finishedAt } = termination;
  if (stopReason !== "timeout" || !startedAt || !finishedAt) return false;
  return finishedAt.getTime() - startedAt.getTime() + ROUNDING_MS < timeoutMs;
}

/** An action whose container ran or may have run, and whose end is unknown. */
export interface VanishedEnding extends AnyEnding {
  readonly why: string;
  /** 0 if the Job is complete. */
  readonly exitCode: number | undefined;
  readonly startedAt: Date;
}

/** Concludes the outcome of a vanished pod. Its output counts, but success also needs the cluster's confirmation. */
export function concludeVanished(ending: VanishedEnding): Outcome {
  const { why, exitCode, stopReason, written, timeoutMs, startedAt } = ending;
  const stoppedAt = new Date(ending.nowMs);
  const { result } = written;
  if (exitCode !== undefined || stopReason !== undefined || result?.ok === false) {
    return concludeOutcome({
      exitCode,
      stopReason,
      result,
      lastLines: exitCode === undefined ? [why] : written.lastLines,
      timeoutMs,
      startedAt,
      stoppedAt,
    });
  }
  const said = result ? ` although it said: ${result.message}` : "";
  return {
    ...failedLaunch("internal", "", startedAt, stoppedAt),
    message: foldLine(`its outcome is unknown: ${why}${said}`),
    killed: true,
  };
}

function linesOf(message: string): string[] {
  return message.split("\n").filter((line) => line.trim() !== "");
}

function signalName(signal: number | undefined): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
}
