import { readdir, readFile } from "node:fs/promises";

/** What the kernel says of a process (proc(5)); Linux alone does. */
export interface ProcessFigures {
  readonly residentBytes: number;
  /** The peak of the resident size. */
  readonly peakBytes: number;
  /** CPU time of the process and of its ended children. */
  readonly cpuMs: number;
  /** The part of `cpuMs` that the ended children used. */
  readonly childrenCpuMs: number;
}

/** Linux counts in hundredths of a second on every platform that Node runs on (`USER_HZ`). */
const TICK_MS = 10;

/** Undefined where the kernel does not tell, or no longer. */
export async function figuresOf(pid: number): Promise<ProcessFigures | undefined> {
  try {
    const [status, stat] = await Promise.all([
      readFile(`/proc/${pid}/status`, "utf8"),
      readFile(`/proc/${pid}/stat`, "utf8"),
    ]);
    // The name in brackets may hold anything; utime to cstime are the fields 14 to 17.
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 15)
      .map((ticks) => Number(ticks) * TICK_MS);
    const childrenCpuMs = childUser + childSystem;
    return {
      residentBytes: kibibytes(status, "VmRSS"),
      peakBytes: kibibytes(status, "VmHWM"),
      cpuMs: user + system + childrenCpuMs,
      childrenCpuMs,
    };
  } catch {
    return undefined;
  }
}

/** Memory of a process' children, what they share with others counted in parts (`Pss`). */
export async function childrenBytes(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => text(`/proc/${pid}/task/${thread}/children`)));
  const children = lists.flatMap((list) => list.trim().split(/\s+/).filter(Boolean));
  const sizes = await Promise.all(
    children.map(async (child) => kibibytes(await text(`/proc/${child}/smaps_rollup`), "Pss")),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function kibibytes(text: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1_024;
}

function text(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
