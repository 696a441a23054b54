import { version } from "../../../shared/version.ts";
import { type ActionRecord, isEnded } from "./board/records.ts";
import { type ShownMachine, shownMachines } from "./views/machines.ts";
import type { Sources } from "./views/view.ts";

/** The content of the pages for scripts, without unknown values. The fields are stable: `docs/reference/status-page.md`. */
export function statusJson({ board, facts, clock, begunMs, begunAt }: Sources) {
  const nowMs = clock.monotonicMs();
  const sinceMs = (ms: number) => Math.max(0, Math.round(nowMs - ms));
  const activity = board.activity();
  const { sources, agentIdsInOtherCase } = facts.cluster?.() ?? {};

  function machineJson({ name, record, inFlight, labels, paused }: ShownMachine) {
    const { power, powerChanges = [], known, provider, failures = [], last } = record ?? {};
    return {
      name,
      labels,
      bmc: facts.bmcAddress?.(name),
      origin: facts.machineOrigin?.(name),
      drift: facts.machineDrift?.(name),
      paused,
      atHand: inFlight.map(({ action }) => action.key),
      last,
      power: power && { state: power.state, at: power.at, by: power.by, ageMs: sinceMs(power.sinceMs) },
      powerChanges: powerChanges.map(({ state, at, by }) => ({ state, at, by })),
      provider,
      facts: known?.facts,
      recentFailures: failures.map(({ sinceMs: _, ...failure }) => failure),
    };
  }

  function actionJson(record: ActionRecord) {
    const { action, progress, delivery = "pending" } = record;
    const ms = sinceMs(record.sinceMs);
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
        elapsedMs: sinceMs(progress.sinceMs),
        limitMs: progress.limitMs,
      },
      waitedMs: record.waitedMs,
      retries: record.retriesMs?.length,
      ...(isEnded(record)
        ? { durationMs: record.durationMs, endedMsAgo: ms, report: delivery }
        : { elapsedMs: ms }),
    };
  }

  return {
    version,
    startedAt: begunAt,
    upMs: sinceMs(begunMs),
    slots: { limit: facts.slots().limit, taken: facts.slots().taken },
    unfinishedReports: facts.unfinished(),
    lanes: board.agents().map((agent) => ({ ...agent, sinceMs: sinceMs(agent.sinceMs) })),
    machines: shownMachines(facts.machines(), { board, facts }).map(machineJson),
    machineSources: sources,
    agentIdsInOtherCase: agentIdsInOtherCase?.(),
    workflowProblems: facts.workflowProblems?.(),
    /** One list per count, the oldest minute first. */
    lastHour: {
      succeeded: activity.map(({ succeeded }) => succeeded),
      failed: activity.map(({ failed }) => failed),
      waiting: activity.map(({ waiting }) => waiting),
    },
    failures: board.failures().map(({ action }) => action.key),
    actions: [...board.active(), ...board.ended()].map(actionJson),
  };
}
