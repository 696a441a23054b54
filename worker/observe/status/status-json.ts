import { version } from "../../../shared/version.ts";
import { type ActionRecord, isEnded } from "./board/action-record.ts";
import type { PageOptions } from "./board/page-options.ts";

/** The content of the pages for scripts; unknown values are omitted. */
export function statusJson({ board, facts, clock, begunMs, begunAt }: PageOptions) {
  const nowMs = clock.monotonicMs();
  return {
    version,
    startedAt: begunAt,
    upMs: elapsedMs(begunMs, nowMs),
    slots: { limit: facts.slots().limit, taken: facts.slots().taken },
    unfinishedReports: facts.unfinished(),
    lanes: board.lanes().map(({ agentId, state, sinceMs, code }) => ({
      agentId,
      state,
      sinceMs: elapsedMs(sinceMs, nowMs),
      code,
    })),
    machines: facts.machines().map((name) => {
      const { power, inFlight = [], last } = board.machine(name) ?? {};
      return {
        name,
        atHand: inFlight,
        last,
        power: power && {
          state: power.state,
          at: power.at,
          by: power.by,
          ageMs: elapsedMs(power.sinceMs, nowMs),
        },
      };
    }),
    failures: board.failures().map(({ action }) => action.key),
    actions: [...board.active(), ...board.ended()].map((record) => actionJson(record, nowMs)),
  };
}

function actionJson(record: ActionRecord, nowMs: number) {
  const { action, sinceMs, durationMs, delivery, progress } = record;
  const ms = elapsedMs(sinceMs, nowMs);
  return {
    key: action.key,
    name: action.name,
    machine: record.machine,
    phase: record.phase,
    class: record.class,
    reason: record.reason,
    adopted: record.adopted,
    workflow: action.workflowId,
    task: action.taskId,
    action: action.actionId,
    agentId: action.agentId,
    image: action.image,
    runtime: record.runtime,
    provider: record.provider,
    exitCode: record.exitCode,
    takenAt: record.takenAt,
    startedAt: record.startedAt,
    stoppedAt: record.stoppedAt,
    timeoutMs: record.timeoutMs,
    progress: progress && {
      text: progress.text,
      elapsedMs: elapsedMs(progress.sinceMs, nowMs),
      limitMs: progress.limitMs,
    },
    ...(isEnded(record) ? { durationMs, endedMsAgo: ms, report: delivery ?? "pending" } : { elapsedMs: ms }),
  };
}

function elapsedMs(sinceMs: number, nowMs: number): number {
  return Math.max(0, Math.round(nowMs - sinceMs));
}
