import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const STOP_TIMEOUT_MS = 15_000;

/** A real `pbnj-worker start` beside the demonstration. */
export interface WorkerProcess {
  /** Resolves when the worker ends, to its exit code. */
  readonly ended: Promise<number | null>;
  readonly logFile: string;
  /** Stops it as a supervisor would. Resolves to its exit code. */
  stop(): Promise<number | null>;
}

export function startWorker(argv: readonly string[], logFile: string): WorkerProcess {
  const child = spawn(process.execPath, [WORKER, "start", ...argv], { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.pipe(createWriteStream(logFile));
  const ended = once(child, "exit").then(([code]: (number | null)[]) => code ?? null);
  return { ended, logFile, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<number | null>): Promise<number | null> {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  try {
    return await ended;
  } finally {
    clearTimeout(timer);
  }
}
