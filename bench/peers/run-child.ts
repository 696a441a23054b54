import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { z } from "zod";

const MEASURE = join(import.meta.dirname, "programs/measure_child.py");
const STDERR_TAIL = 400;

const Started = z.object({ pid: z.int(), startNs: z.number() });
const Ended = z.object({
  endNs: z.number(),
  exitCode: z.int(),
  cpuMs: z.number(),
  peakBytes: z.number(),
  leastBytes: z.number(),
});

export interface Command {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ChildRun {
  /** From the start of the process, by the kernel's clock. */
  readonly wallMs: number;
  /** User and system time, with descendants. */
  readonly cpuMs: number;
  /** The largest of its processes. */
  readonly peakBytes: number;
  /** Peaks below this one cannot be told from it. */
  readonly leastBytes: number;
  /** When the process started, by `performance.now()`. */
  readonly startedMs: number;
  readonly lines: readonly ChildLine[];
  readonly exitCode: number;
  /** The end of what it wrote there. */
  readonly stderr: string;
}

export interface ChildLine {
  readonly text: string;
  /** From when it was asked for, which for the first line is the start, to its arrival. */
  readonly wallMs: number;
  /** Since the line before it; undefined for the first and where the process has ended. */
  readonly cpuMs: number | undefined;
}

/**
 * Runs a command until it ends. `onLine` is called after each line on stdout; when it resolves to true, the command is asked for one
 * more line by a newline on stdin, otherwise stdin ends. Rejects after `timeoutMs`, when its
 * whole process group is killed. Whether the command succeeded is the caller's to decide.
 */
export async function runChild(
  command: Command,
  timeoutMs: number,
  onLine: (line: ChildLine, index: number) => Promise<boolean> = async () => false,
): Promise<ChildRun> {
  const child = spawn("python3", ["-I", "-S", MEASURE, ...command.argv], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...command.env },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    // A group of its own, which can be killed as a whole.
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) {
    const [cause] = await once(child, "error");
    throw new Error("python3 did not start", { cause });
  }
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-pid, "SIGKILL");
  }, timeoutMs);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-STDERR_TAIL);
  });
  child.stdin?.on("error", () => undefined);
  const closed = once(child, "close");
  try {
    const reports = createInterface({ input: child.stdio[3] as Readable })[Symbol.asyncIterator]();
    const started = Started.parse(JSON.parse((await reports.next()).value ?? "{}"));
    // Both clocks are CLOCK_MONOTONIC, counted from different points.
    const startedMs = performance.now() - (Number(process.hrtime.bigint()) - started.startNs) / 1e6;
    const lines: ChildLine[] = [];
    let askedMs = startedMs;
    let cpuMs: number | undefined;
    for await (const text of createInterface({ input: child.stdout as Readable })) {
      const wallMs = performance.now() - askedMs;
      const before = cpuMs;
      cpuMs = await cpuMsOf(started.pid);
      const usedMs = before === undefined || cpuMs === undefined ? -1 : cpuMs - before;
      // Less than before: a thread has ended.
      const line = { text, wallMs, cpuMs: usedMs < 0 ? undefined : usedMs };
      lines.push(line);
      if (await onLine(line, lines.length - 1)) {
        askedMs = performance.now();
        child.stdin?.write("\n");
      } else child.stdin?.end();
    }
    const { value } = await reports.next();
    await closed;
    if (isLate) throw new Error(`no end within ${timeoutMs / 1_000} s ${stderr}`.trim());
    const { endNs, ...used } = Ended.parse(JSON.parse(value ?? "{}"));
    return { wallMs: (endNs - started.startNs) / 1e6, startedMs, lines, stderr: stderr.trim(), ...used };
  } catch (thrown) {
    if (isLate) throw new Error(`no end within ${timeoutMs / 1_000} s`, { cause: thrown });
    throw thrown;
  } finally {
    clearTimeout(timer);
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, "SIGKILL");
  }
}

/** CPU time of all threads of a process, from the scheduler's nanoseconds; undefined once it has ended. */
async function cpuMsOf(pid: number): Promise<number | undefined> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const times = await Promise.all(
      threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")),
    );
    return times.reduce((sum, text) => sum + Number(text.split(" ")[0]) / 1e6, 0);
  } catch {
    return undefined;
  }
}
