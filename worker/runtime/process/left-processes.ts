import { readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { type ActionResult, parseResultLine, WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import type { LaunchHandle } from "../runtime.ts";
import { endGroup } from "./process-group.ts";
import { isRunning, processesWith, processHandle } from "./process-table.ts";

/** When a child's time is over, ISO 8601: long after that it is nobody's. */
export const DEADLINE_VARIABLE = "PBNJ_ACTION_DEADLINE";

const ABANDONED_AFTER_MS = 60 * 60_000;
const POLL_MS = 100;
const ENDING = ".json";

export function resultFileOf(directory: string, key: string): string {
  return join(directory, `${key}${ENDING}`);
}

/** The result that a child left; undefined when it left none, or not all of it. */
export async function readResultFile(path: string): Promise<ActionResult | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return parseResultLine(text.trimEnd());
}

/** The process that was told to leave its result there, if it is still running. */
export async function processFor(resultFile: string): Promise<LaunchHandle | undefined> {
  const found = await processesWith(WORKER_RESULT_FILE);
  const leader = found.find(({ environment }) => environment[WORKER_RESULT_FILE] === resultFile);
  return leader && processHandle(leader.pid);
}

/** Resolves when that process is gone. It is not this process's child, so there is nothing to wait on but looks. */
export async function untilGone(
  handle: LaunchHandle,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  while (await isRunning(handle)) await clock.sleep(POLL_MS, signal);
}

export interface SweepOptions {
  readonly resultsDirectory: string;
  /** Keys of actions that will be adopted, or that this worker runs itself. */
  readonly keep: ReadonlySet<string>;
  readonly stopGraceMs: number;
  readonly nowMs: number;
}

/**
 * Ends processes that no worker will come back for, and removes results nobody will read. Resolves to how many
 * processes there were.
 */
export async function sweepProcesses(options: SweepOptions, signal: AbortSignal): Promise<number> {
  const { resultsDirectory, keep, stopGraceMs } = options;
  const left = (await processesWith(WORKER_RESULT_FILE)).filter((found) =>
    isLeftover(found.environment, options),
  );
  await Promise.all(
    left.map(async ({ pid }) => {
      const handle = await processHandle(pid);
      await endGroup(pid, stopGraceMs, untilGone(handle, signal));
    }),
  );
  for (const name of await readdir(resultsDirectory)) {
    if (!keep.has(basename(name, ENDING))) await rm(join(resultsDirectory, name), { force: true });
  }
  return left.length;
}

function isLeftover(
  environment: Readonly<Record<string, string>>,
  { resultsDirectory, keep, nowMs }: SweepOptions,
): boolean {
  const file = environment[WORKER_RESULT_FILE] ?? "";
  if (dirname(file) === resultsDirectory) return !keep.has(basename(file, ENDING));
  const deadlineMs = Date.parse(environment[DEADLINE_VARIABLE] ?? "");
  return !Number.isNaN(deadlineMs) && nowMs > deadlineMs + ABANDONED_AFTER_MS;
}
