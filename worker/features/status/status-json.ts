import { version } from "../../../shared/version.ts";
import type { Minute } from "./board/activity.ts";
import type { MachineRecord } from "./board/machine-record.ts";
import type { PageOptions } from "./board/page-options.ts";
import { type ActionRecord, isEnded } from "./board/shown-action.ts";

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
      const inventory = { bmc: facts.bmcAddress?.(name), origin: facts.machineOrigin?.(name) };
      return {
        name,
        ...inventory,
        drift: facts.machineDrift?.(name),
        ...machineJson(board.machine(name), nowMs),
      };
    }),
    machineSources: facts.cluster?.().sources,
    agentIdsInOtherCase: facts.cluster?.().agentIdsInOtherCase?.(),
    lastHour: columns(board.activity()),
    failures: board.failures().map(({ action }) => action.key),
    actions: [...board.active(), ...board.ended()].map((record) => actionJson(record, nowMs)),
  };
}

function machineJson(record: MachineRecord | undefined, nowMs: number) {
  const { power, powerChanges = [], known, provider, failures = [], inFlight = [], last } = record ?? {};
  return {
    atHand: inFlight,
    last,
    power: power && {
      state: power.state,
      at: power.at,
      by: power.by,
      ageMs: elapsedMs(power.sinceMs, nowMs),
    },
    powerChanges: powerChanges.map(({ state, at, by }) => ({ state, at, by })),
    provider,
    facts: known?.facts,
    recentFailures: failures.map(({ sinceMs: _, ...failure }) => failure),
  };
}

/** One list per count, oldest minute first. */
function columns(minutes: readonly Minute[]) {
  return {
    succeeded: minutes.map(({ succeeded }) => succeeded),
    failed: minutes.map(({ failed }) => failed),
    waiting: minutes.map(({ waiting }) => waiting),
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
    waitedMs: record.waitedMs,
    retries: record.retriesMs?.length,
    ...(isEnded(record) ? { durationMs, endedMsAgo: ms, report: delivery ?? "pending" } : { elapsedMs: ms }),
  };
}

function elapsedMs(sinceMs: number, nowMs: number): number {
  return Math.max(0, Math.round(nowMs - sinceMs));
}
