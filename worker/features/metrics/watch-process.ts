import { readdir, readFile } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { MetricSet } from "./metric-set.ts";

/** Often enough to notice delays, and rarely enough to keep an idle worker idle. */
const LOOK_MS = 100;
const NANOSECONDS = 1_000_000_000;
const MICROSECONDS = 1_000_000;

export interface ProcessWatch {
  sample(): Promise<void>;
  close(): void;
}

/** Measures this process under the standard metric names. */
export function watchProcess(metrics: MetricSet): ProcessWatch {
  const delay = monitorEventLoopDelay({ resolution: LOOK_MS });
  delay.enable();
  let countedCpu = 0;

  /** Returns the longest delay in seconds since the last call: each measurement is late by its delay. */
  function takeLag(): number {
    const longest = delay.count === 0 ? 0 : delay.max / NANOSECONDS - LOOK_MS / 1_000;
    delay.reset();
    return Math.max(0, longest);
  }

  return {
    async sample() {
      const { user, system } = process.cpuUsage();
      const cpu = (user + system) / MICROSECONDS;
      metrics.record("cpu", {}, Math.max(0, cpu - countedCpu));
      countedCpu = cpu;
      metrics.record("lag", {}, takeLag());
      const [open, most] = await Promise.all([openFiles(), mostFiles()]);
      if (open !== undefined) metrics.record("openFiles", {}, open);
      if (most !== undefined) metrics.record("mostFiles", {}, most);
    },
    close: () => void delay.disable(),
  };
}

/** The number of open files; undefined if the system does not report it (proc_pid_fd(5)). */
async function openFiles(): Promise<number | undefined> {
  const names = await readdir("/proc/self/fd").catch(() => undefined);
  // One of them is the folder itself, open for this.
  return names && names.length - 1;
}

/** The limit of open files; undefined if there is none, or if the system does not report it (proc_pid_limits(5)). */
async function mostFiles(): Promise<number | undefined> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, most] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return most === undefined ? undefined : Number(most);
}
