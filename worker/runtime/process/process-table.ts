import { readdir, readFile } from "node:fs/promises";
import type { LaunchHandle } from "../runtime.ts";

/** Process IDs are given out anew; with its start time and the system's boot, one means one process for ever. */
export async function processHandle(pid: number): Promise<LaunchHandle> {
  return { pid, startTicks: (await startTicks(pid)) ?? null, boot: (await bootId()) ?? null };
}

/** Whether that very process is still there; a zombie, which nobody has reaped yet, is not. */
export async function isRunning({ pid, startTicks: ticks, boot }: LaunchHandle): Promise<boolean> {
  if (typeof pid !== "number" || boot !== ((await bootId()) ?? null)) return false;
  // Without /proc there is no start time to compare, and the ID alone must do.
  if (ticks === null) return exists(pid);
  return (await startTicks(pid)) === ticks;
}

/** A process of this user, as its environment at its start shows it. */
export interface MarkedProcess {
  readonly pid: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** Every process whose environment holds the variable. Those of other users, and systems without /proc, give none. */
export async function processesWith(variable: string): Promise<readonly MarkedProcess[]> {
  const names = await readdir("/proc").catch(() => []);
  const found: MarkedProcess[] = [];
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    if (!text.includes(`${variable}=`)) continue;
    const environment = Object.fromEntries(text.split("\0").map(variableOf));
    if (environment[variable] !== undefined) found.push({ pid: Number(name), environment });
  }
  return found;
}

function variableOf(entry: string): readonly [string, string] {
  const equals = entry.indexOf("=");
  return [entry.slice(0, Math.max(equals, 0)), entry.slice(equals + 1)];
}

/** Since the boot, in clock ticks (proc_pid_stat(5), field 22); undefined for one that is gone or a zombie. */
async function startTicks(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name, in parentheses, may hold anything; what follows it starts with field 3.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], Number(fields[19])];
  return text === "" || state === "Z" || state === "X" || Number.isNaN(ticks) ? undefined : ticks;
}

async function bootId(): Promise<string | undefined> {
  const text = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return text.trim() || undefined;
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
