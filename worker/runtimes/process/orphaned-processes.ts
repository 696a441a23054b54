import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { endGroup } from "../../../shared/child-process/process-group.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { type ActionResult, parseResultLine } from "../../../shared/contract/result.ts";
import { readOwnFile } from "../../../shared/read-text-file.ts";
import type { LaunchHandle } from "../../core/ports/runtime.ts";
import { LONGEST_RESULT } from "../log-stream.ts";
import { isOrphan, isUnneeded, ownerLabels, type SweepOptions } from "../orphan.ts";
import { LABEL_VARIABLE } from "./process-spec.ts";
import { isRunning, type MarkedProcess, processesWith, processHandle } from "./process-table.ts";

const POLL_MS = 100;
const ENDING = ".json";

/** The folder where processes of a state directory leave their results for a restarted worker. */
export interface ProcessState {
  readonly id: string;
  readonly results: string;
}

export function resultFileOf({ results }: ProcessState, key: string): string {
  return join(results, `${key}${ENDING}`);
}

/** The result of a child; undefined if it is missing or incomplete. */
export async function readResultFile(path: string): Promise<ActionResult | undefined> {
  const text = await readOwnFile(path, LONGEST_RESULT).catch(() => "");
  return parseResultLine(text.trimEnd());
}

export async function processFor({ id }: ProcessState, key: string): Promise<LaunchHandle | undefined> {
  const leader = (await processesOf(id, key)).find(({ pid, groupId }) => pid === groupId);
  return leader && processHandle(leader.pid);
}

/** Ends all processes of an action, including those that outlived it. */
export async function endProcessesOf({ id }: ProcessState, key: string, stopGraceMs: number): Promise<void> {
  await endGroups(await processesOf(id, key), stopGraceMs);
}

/** Resolves when the process is gone. It polls, because the process is not a child of this one. */
export async function untilGone(
  handle: LaunchHandle,
  signal?: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  while (await isRunning(handle)) await clock.sleep(POLL_MS, signal);
}

export interface ProcessSweep extends SweepOptions {
  readonly results?: string | undefined;
  readonly stopGraceMs: number;
}

/** Ends orphaned processes and removes unneeded results. Resolves to the number of process groups ended. */
export async function sweepProcesses(sweep: ProcessSweep): Promise<number> {
  const marked = await processesWith(LABEL_VARIABLE.deadline);
  const left = marked.filter(({ environment }) => isOrphan(ownerLabels(environment, LABEL_VARIABLE), sweep));
  const ended = await endGroups(left, sweep.stopGraceMs);
  if (sweep.results !== undefined) {
    for (const name of await readdir(sweep.results)) {
      // Also matches results that are being written.
      const key = name.split(".", 1)[0] ?? "";
      if (isUnneeded(sweep.keep(key), true))
        await rm(join(sweep.results, name), { recursive: true, force: true });
    }
  }
  return ended;
}

async function processesOf(stateId: string, key: string): Promise<readonly MarkedProcess[]> {
  const marked = await processesWith(LABEL_VARIABLE.key);
  return marked.filter(({ environment }) => {
    const labels = ownerLabels(environment, LABEL_VARIABLE);
    return labels.state === stateId && labels.key === key;
  });
}

/** Ends whole groups, because a program may clear the environment of its children. Resolves to their number. */
async function endGroups(processes: readonly MarkedProcess[], stopGraceMs: number): Promise<number> {
  const groups = Map.groupBy(processes, ({ groupId }) => groupId);
  await Promise.all(
    [...groups].map(async ([groupId, members]) => {
      const handles = await Promise.all(members.map(({ pid }) => processHandle(pid)));
      const limit = AbortSignal.timeout(stopGraceMs);
      const gone = Promise.all(handles.map((handle) => untilGone(handle, limit))).catch(() => undefined);
      await endGroup(groupId, stopGraceMs, gone);
    }),
  );
  return groups.size;
}
