import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChildProcess } from "../../../shared/child-process/child-process.ts";
import { waitUntilDeadline } from "../../../shared/deadline.ts";
import type { LogLine } from "../../core/action/action.ts";
import type { OutputOptions } from "../../core/ports/runtime.ts";
import { FLOOD_GRACE_MS, LogStream } from "../log-stream.ts";

/** How long a killed process may take to be reaped. */
const REAP_MS = 2_000;

export interface FollowOptions extends OutputOptions {
  readonly child: ChildProcess;
  /** Called before the action gets its input, without which it does nothing. */
  readonly beforeInput: () => Promise<void>;
  readonly input: string;
  readonly timeoutMs: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
}

/** Follows a started process to its end, and stops its group at its timeout or when `signal` aborts. */
export async function followProcess(options: FollowOptions, signal: AbortSignal) {
  const { child, beforeInput, input, timeoutMs, stopGraceMs } = options;
  const log = new LogStream(options);
  const read = Promise.all([
    readStream(child.stdout, "stdout", log),
    readStream(child.stderr, "stderr", log),
  ]);
  await beforeInput();
  child.stdin?.end(input);
  const stopReason = await waitUntilDeadline(timeoutMs, signal, () => child.exited);
  const graceMs = log.isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
  log.throttle.skipPauses();
  if (stopReason) await child.stop(graceMs);
  const exit = await Promise.race([child.exited, sleep(REAP_MS, {}, { ref: false })]);
  await child.kill();
  await child.drain(read);
  return { ...exit, stopReason, written: log.end() };
}

/** Reads no faster than the log takes it. Never rejects. */
async function readStream(stream: Readable, name: LogLine["stream"], log: LogStream): Promise<void> {
  try {
    for await (const chunk of stream) {
      await log.throttle.read(chunk, (part) => log.write(name, part));
    }
  } catch {
    // The pipe was closed; what was read until then counts.
  }
}
