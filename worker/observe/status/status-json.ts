import { version } from "../../../shared/version.ts";
import { type ActionRecord, isEnded } from "./board/action-record.ts";
import type { PageOptions } from "./board/page-options.ts";

/** What the pages show, for scripts; what is not known is left out. */
export function statusJson({ board, facts, clock, begunMs, begunAt }: PageOptions) {
  const nowMs = clock.monotonicMs();
  return {
    version,
    startedAt: begunAt,
    upMs: elapsedMs(begunMs, nowMs),
    slots: { limit: facts.slots().limit, taken: facts.slots().taken },
    unfinishedReports: facts.unfinished(),
    lanes: board.lanes().map(({ agentId, state, sinceMs, code }) => ({
      ...{ agentId, state, sinceMs: elapsedMs(sinceMs, nowMs), code },
    })),
    machines: facts.machines().map((name) => {
      const { power, atHand = [], last } = board.machine(name) ?? {};
      return {
        ...{ name, atHand, last },
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
  const { action, machine, phase, sinceMs, takenAt, startedAt, stoppedAt, runtime, timeoutMs } = record;
  const { adopted, durationMs, reason, exitCode, provider, delivery } = record;
  const ended = isEnded(record);
  return {
    ...{ key: action.key, name: action.name, machine, phase, class: record.class, reason, adopted },
    ...{ workflow: action.workflowId, task: action.taskId, action: action.actionId, agentId: action.agentId },
    ...{ image: action.image, runtime, provider, exitCode, takenAt, startedAt, stoppedAt, timeoutMs },
    ...(ended ? { durationMs, endedMsAgo: elapsedMs(sinceMs, nowMs), report: delivery ?? "pending" } : {}),
    ...(ended ? {} : { elapsedMs: elapsedMs(sinceMs, nowMs) }),
  };
}

function elapsedMs(sinceMs: number, nowMs: number): number {
  return Math.max(0, Math.round(nowMs - sinceMs));
}
