import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import { TimeoutReached } from "../../../timeout.ts";
import { openNamelessFile } from "./nameless-file.ts";

/** Enough for any answer and for `-v`; a program that prints more has lost its way. */
const OUTPUT_LIMIT = 64 * 1024;
const GRACE_MS = 500;

export interface ProgramRun {
  readonly program: string;
  readonly argv: readonly string[];
  /** What it reads from standard input, which is closed when this is absent. */
  readonly input?: Uint8Array;
  /** The content of files without a name that it finds at /dev/fd/3 and the numbers after it. */
  readonly files: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

export interface ProgramEnd {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end. It leads a process group of its own; after `limitMs`, or when the signal aborts,
 * the whole group is terminated and then killed, and nothing of it is left when this rejects. Throws
 * `unsupported` when there is no such program, `TimeoutReached`, or the signal's reason.
 */
export async function runProgram(run: ProgramRun, signal: AbortSignal): Promise<ProgramEnd> {
  signal.throwIfAborted();
  // In an object, as the child itself can be waited for and would be, to its end.
  const { child } = await start(run);
  const interrupted = Promise.withResolvers<unknown>();
  const onAbort = () => interrupted.resolve(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => interrupted.resolve(new TimeoutReached(run.limitMs)), run.limitMs);
  try {
    const outcome = await Promise.race([
      child.then((result) => ({ result })),
      interrupted.promise.then((reason) => ({ reason })),
    ]);
    if ("reason" in outcome) throw outcome.reason;
    const { result } = outcome;
    if (result.code === "ENOENT" || result.code === "EACCES") {
      throw new BmcError("unsupported", `cannot run "${run.program}": it is not installed here`);
    }
    if (result.isMaxBuffer) throw new BmcError("protocol", `"${run.program}" printed too much`);
    return { ok: result.exitCode === 0, stdout: result.stdout, stderr: result.stderr };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    await endGroup(child.pid, child);
  }
}

async function start(run: ProgramRun) {
  const { execa } = await import("execa");
  const descriptors: number[] = [];
  try {
    for (const content of run.files) descriptors.push(openNamelessFile(content));
    const child = execa(run.program, run.argv, {
      env: run.environment,
      extendEnv: false,
      ...defined({ input: run.input }),
      stdio: [run.input === undefined ? "ignore" : "pipe", "pipe", "pipe", ...descriptors.map(inherited)],
      detached: true,
      reject: false,
      maxBuffer: OUTPUT_LIMIT,
    });
    return { child };
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** execa hands any descriptor on; its types name those up to 9. */
const inherited = (descriptor: number) => descriptor as 3;

/** Ends what is left of the group: often nothing. */
async function endGroup(pid: number | undefined, ended: PromiseLike<unknown>): Promise<void> {
  if (pid === undefined || !signalGroup(pid, "SIGTERM")) return;
  const grace = new AbortController();
  await Promise.race([ended, sleep(GRACE_MS, undefined, { signal: grace.signal }).catch(() => undefined)]);
  grace.abort();
  signalGroup(pid, "SIGKILL");
  await ended;
}

/** False when the group has no process any more. */
function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, name);
  } catch {
    return false;
  }
}
