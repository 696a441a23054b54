import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { waitUntilDeadline } from "../deadline.ts";
import { ChildProcess, type ChildProcessOptions, type Exit } from "./child-process.ts";

export interface RunProgramOptions extends Omit<ChildProcessOptions, "hasInput"> {
  readonly input?: Uint8Array;
  readonly timeoutMs: number;
  /** How long the program may clean up after SIGTERM. */
  readonly graceMs?: number;
  /** Receives stderr without a limit; `ProgramEnd.stderr` is then empty. */
  readonly onStderr?: (chunk: Uint8Array) => void;
  /** Called with the process group when it runs. Returns a function to call when the group has ended. */
  readonly onStarted?: (groupId: number) => () => void;
}

export interface ProgramEnd {
  readonly kind: "exited" | "timeout" | "too-much-output";
  /** Set only if the program exited by itself. */
  readonly exit?: Exit;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** The limit per stream. */
export const OUTPUT_LIMIT_BYTES = 64 * 1024;

/**
 * Runs a program to its end and collects its output. Its process group has ended when this settles. Rejects with a
 * `StartError`, or with the signal's reason.
 */
export async function runProgram(options: RunProgramOptions, signal: AbortSignal): Promise<ProgramEnd> {
  const { input, timeoutMs, graceMs = 500, onStderr, onStarted } = options;
  signal.throwIfAborted();
  const child = await ChildProcess.start({ ...options, hasInput: input !== undefined });
  const onEnded = onStarted?.(child.groupId);
  try {
    const overflow = Promise.withResolvers<void>();
    const stdout = new LimitedOutput(overflow.resolve);
    const stderr = new LimitedOutput(overflow.resolve);
    child.stdout.on("data", (chunk) => stdout.push(chunk));
    child.stderr.on("data", onStderr ?? ((chunk) => stderr.push(chunk)));
    child.stdin?.end(input);
    const over = Promise.race([child.exited, overflow.promise]);
    const stopReason = await waitUntilDeadline(timeoutMs, signal, () => over);
    const isTooMuch = () => stdout.isOver || stderr.isOver;
    await (stopReason || isTooMuch() ? child.stop(graceMs) : child.kill());
    await child.drain(Promise.allSettled([child.stdout, child.stderr].map(ended)));
    if (stopReason === "cancelled") throw signal.reason;
    const output = { stdout: stdout.bytes(), stderr: stderr.bytes() };
    if (stopReason) return { kind: "timeout", ...output };
    if (isTooMuch()) return { kind: "too-much-output", ...output };
    return { kind: "exited", exit: await child.exited, ...output };
  } finally {
    onEnded?.();
  }
}

class LimitedOutput {
  readonly #onOver: () => void;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  get isOver(): boolean {
    return this.#size > OUTPUT_LIMIT_BYTES;
  }

  push(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.isOver) this.#onOver();
    else this.#chunks.push(chunk);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function ended(stream: Readable): Promise<void> {
  return finished(stream, { writable: false });
}
