import type { Clock } from "../../../../shared/clock.ts";
import { defined } from "../../../../shared/defined.ts";
import type { ActionEvent } from "../../../core/action/observer.ts";
import { readLogLine } from "../../../core/runtime/log-line.ts";
import { type ActionRecord, identityOf, MOST_RETRIES } from "./shown-action.ts";

type Step = Omit<ActionRecord, "revision">;

export function started(
  before: ActionRecord | undefined,
  { action, machine, runtime, startedAt, timeoutMs, adopted }: ActionEvent & { kind: "started" },
  clock: Clock,
): Step {
  const nowMs = clock.monotonicMs();
  // Only the wall clock shows how long an adopted action has run.
  const ranMs = adopted ? Math.max(0, clock.now() - startedAt.getTime()) : 0;
  const waitedMs = !adopted && before?.phase === "waiting" ? nowMs - before.sinceMs : undefined;
  return {
    ...identityOf(action, machine ?? before?.machine),
    phase: "running",
    sinceMs: nowMs - ranMs,
    startedAt,
    runtime,
    timeoutMs,
    adopted,
    ...defined({ takenAt: before?.takenAt, waitedMs }),
  };
}

export function progressed(
  { progress: _, ...record }: Step,
  { progress, at }: ActionEvent & { kind: "progress" },
  clock: Clock,
): Step {
  const nowMs = clock.monotonicMs();
  // Another host's clock may be wrong.
  const agoMs = Math.min(Math.max(0, clock.now() - at.getTime()), nowMs - record.sinceMs);
  return { ...record, ...defined({ progress: progress && { ...progress, sinceMs: nowMs - agoMs } }) };
}

/** The record with a retry that begins now; undefined if it does not run, or retried too often. */
export function retried(record: ActionRecord | undefined, nowMs: number): Step | undefined {
  const { retriesMs = [] } = record ?? {};
  if (record?.phase !== "running" || retriesMs.length >= MOST_RETRIES) return undefined;
  return { ...record, retriesMs: [...retriesMs, Math.round(nowMs - record.sinceMs)] };
}

/** Such lines have the number of the attempt that failed: `BMC call failed, retrying`. */
export function isRetry(line: string): boolean {
  return line.includes('"attempt"') && typeof readLogLine(line).fields["attempt"] === "number";
}

export function ended(
  known: ActionRecord | undefined,
  { action, machine, runtime, outcome }: ActionEvent & { kind: "ended" },
  nowMs: number,
): Step {
  const { progress: _, ...before }: Step = known ?? {
    ...identityOf(action, machine),
    adopted: false,
    sinceMs: nowMs,
    phase: "waiting",
  };
  const ran = before.phase === "running";
  const { ok, message, exitCode, result, startedAt, stoppedAt } = outcome;
  // An adopted action may have ended before this worker started, so only the wall clock shows its duration.
  const told = Math.max(0, stoppedAt.getTime() - startedAt.getTime());
  const durationMs = before.adopted ? told : nowMs - before.sinceMs;
  return {
    ...before,
    phase: ok ? "succeeded" : "failed",
    sinceMs: nowMs,
    stoppedAt,
    reason: message,
    ...(ran ? { runtime, startedAt, durationMs } : { waitedMs: nowMs - before.sinceMs }),
    ...defined({
      machine: machine ?? before.machine,
      class: outcome.class,
      exitCode,
      provider: result?.provider,
    }),
  };
}
