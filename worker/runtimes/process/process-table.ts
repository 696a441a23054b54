import { readdir, readFile } from "node:fs/promises";
import { runProgram } from "../../../shared/child-process/run-program.ts";
import type { LaunchHandle } from "../../core/ports/runtime.ts";

const PS_TIMEOUT_MS = 5_000;

/** Process IDs are reused: together with the start time and the boot ID, one identifies a process forever. */
export async function processHandle(pid: number): Promise<LaunchHandle> {
  const boot = await bootId();
  const start = boot === undefined ? await startByPs(pid) : (await statOf(pid))?.startTicks;
  return { pid, start: start ?? null, boot: boot ?? null };
}

/** Whether that process still runs. A zombie does not. */
export async function isRunning({ pid, start, boot: bootThen }: LaunchHandle): Promise<boolean> {
  const boot = await bootId();
  // A process that ended before it was read has no start time, so its ID belongs to another one.
  if (typeof pid !== "number" || (start ?? null) === null || bootThen !== (boot ?? null)) return false;
  if (boot === undefined) return (await startByPs(pid)) === start;
  const stat = await statOf(pid);
  return stat !== undefined && !stat.ended && stat.startTicks === start;
}

/** A process of this user, with its initial environment. */
export interface MarkedProcess {
  readonly pid: number;
  readonly groupId: number;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Running processes whose environment has the variable, except this one. Finds none of other users, or on systems
 * without /proc.
 */
export async function processesWith(variable: string): Promise<readonly MarkedProcess[]> {
  const names = await readdir("/proc").catch(() => []);
  const found: MarkedProcess[] = [];
  for (const pid of names.filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (pid === process.pid) continue;
    const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!text.includes(`${variable}=`)) continue;
    const environment = Object.fromEntries(text.split("\0").map(variableOf));
    const stat = environment[variable] === undefined ? undefined : await statOf(pid);
    if (stat && !stat.ended) found.push({ pid, groupId: stat.groupId, environment });
  }
  return found;
}

function variableOf(entry: string): readonly [string, string] {
  const equals = entry.indexOf("=");
  return [entry.slice(0, Math.max(equals, 0)), entry.slice(equals + 1)];
}

interface ProcessStat {
  readonly ended: boolean;
  readonly groupId: number;
  readonly startTicks: number;
}

/** Reads the fields 3, 5 and 22 of proc_pid_stat(5); undefined if the process is gone. */
async function statOf(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name, in parentheses, may contain anything; field 3 follows it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [groupId, startTicks] = [Number(fields[2]), Number(fields[19])];
  if (text === "" || Number.isNaN(groupId) || Number.isNaN(startTicks)) return undefined;
  return { ended: fields[0] === "Z" || fields[0] === "X", groupId, startTicks };
}

async function bootId(): Promise<string | undefined> {
  const text = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return text.trim() || undefined;
}

/** The start time as printed by `ps`, for POSIX systems without /proc; undefined if the process is gone. */
export async function startByPs(pid: number): Promise<string | undefined> {
  const ended = await runProgram(
    {
      program: "ps",
      argv: ["-o", "lstart=", "-p", String(pid)],
      environment: { ...process.env, LC_ALL: "C" },
      timeoutMs: PS_TIMEOUT_MS,
    },
    new AbortController().signal,
  ).catch(() => undefined);
  return (ended?.exit?.exitCode === 0 && ended.stdout.toString().trim()) || undefined;
}
