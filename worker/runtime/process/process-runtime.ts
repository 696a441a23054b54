import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import type { Outcome } from "../../action.ts";
import { actionKey } from "../../action-key.ts";
import { parseImageReference } from "../../image-reference.ts";
import { waitUntilDeadline } from "../deadline.ts";
import { LogStream } from "../log-stream.ts";
import { concludeOutcome, failedLaunch, nothingLeft, type StopReason } from "../outcome.ts";
import type { Adoption, EndedAction, LaunchHandle, LaunchRequest, LeftAction, Runtime } from "../runtime.ts";
import type { ActionProgram, ActionPrograms } from "./action-program.ts";
import { childEnvironment } from "./child-environment.ts";
import { processFor, readResultFile, resultFileOf, sweepProcesses, untilGone } from "./left-processes.ts";
import { endGroup, killGroup, signalGroup } from "./process-group.ts";
import { isRunning, processHandle } from "./process-table.ts";
import { type FilePermit, refusalOf } from "./refusal.ts";

/** How long output that is still in the pipes may take to arrive once the process has ended. */
const DRAIN_MS = 2_000;

export interface ProcessRuntimeOptions {
  readonly programs: ActionPrograms;
  /** The worker's environment, of which an allow-list reaches the child. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Which files of the host actions may use; none when absent. */
  readonly permitFile?: FilePermit;
  /** How long an action may clean up after SIGTERM. */
  readonly stopGraceMs?: number;
  /** Where Node keeps compiled code between runs. */
  readonly compileCacheDirectory?: string;
  /** Where children leave their results for a worker that comes back; without it nothing is adopted. */
  readonly resultsDirectory?: string;
}

interface Exit {
  readonly exitCode?: number;
  readonly signal?: string;
}

/**
 * Runs this project's actions as child processes, each in a process group of its own: for machines without a
 * container engine. An image name stands for the action of its last part; other images cannot run.
 */
export class ProcessRuntime implements Runtime {
  readonly name = "process";
  readonly #programs: ActionPrograms;
  readonly #options: Required<Pick<ProcessRuntimeOptions, "environment" | "stopGraceMs">> &
    ProcessRuntimeOptions;
  readonly #closing = new AbortController();
  readonly #running = new Map<number, Promise<unknown>>();
  /** Of the actions that run. */
  readonly #keys = new Set<string>();
  readonly #stopRunning = () => {
    for (const groupId of this.#running.keys()) signalGroup(groupId, "SIGTERM");
  };

  constructor(options: ProcessRuntimeOptions) {
    this.#programs = options.programs;
    this.#options = { environment: process.env, stopGraceMs: 10_000, ...options };
    // A worker that exits in a hurry must not leave actions that nobody hears.
    process.on("exit", this.#stopRunning);
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const asked = new Date();
    try {
      const refusal = await refusalOf(request.action, this.#options.permitFile);
      if (refusal) return nothingLeft(failedLaunch(refusal.class, refusal.reason, asked, new Date()));
      const name = parseImageReference(request.action.image)?.name;
      const program = name === undefined ? undefined : await this.#programs.find(name);
      if (!program)
        return nothingLeft(failedLaunch("usage", await this.#unknown(request), asked, new Date()));
      return await this.#runProgram(program, request, AbortSignal.any([signal, this.#closing.signal]));
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      return nothingLeft(failedLaunch("internal", `could not run the action: ${message}`, asked, new Date()));
    }
  }

  async adopt(left: LeftAction, signal: AbortSignal): Promise<Adoption> {
    const key = actionKey(left.action);
    const file = this.#resultFile(key);
    const handle = left.handle ?? (file === undefined ? undefined : await processFor(file));
    const stopReason =
      handle && (await isRunning(handle)) ? await this.#waitForLeft(handle, left, signal) : undefined;
    const result = file === undefined ? undefined : await readResultFile(file);
    // Its input broke off with the worker that was writing it: it did nothing.
    if (result?.class === "usage") return { kind: "not-launched" };
    if (!result && !stopReason) {
      const name = parseImageReference(left.action.image)?.name;
      const program = name === undefined ? undefined : await this.#programs.find(name);
      const reason = "the worker was restarted, and its process is gone without a result";
      return { kind: "lost", reason, idempotent: (await program?.isIdempotent()) ?? false };
    }
    const outcome = concludeOutcome({
      ...(result ? { result, exitCode: result.class ? exitCodeOf(result.class) : EXIT_OK } : {}),
      ...(stopReason === undefined ? {} : { stopReason }),
      lastLines: [],
      timeoutMs: left.timeoutMs,
      startedAt: left.startedAt,
      stoppedAt: new Date(),
    });
    return { kind: "ended", ended: this.#ended(outcome, key) };
  }

  async sweep(keep: ReadonlySet<string>, signal: AbortSignal): Promise<number> {
    const { resultsDirectory, stopGraceMs } = this.#options;
    if (resultsDirectory === undefined) return 0;
    // What runs by now was launched after the list of what to keep was made.
    const kept = new Set([...keep, ...this.#keys]);
    return sweepProcesses({ resultsDirectory, keep: kept, stopGraceMs, nowMs: Date.now() }, signal);
  }

  /** Waits for a process that is another worker's child; why it was stopped, if it was. */
  async #waitForLeft(
    handle: LaunchHandle,
    { startedAt, timeoutMs }: LeftAction,
    signal: AbortSignal,
  ): Promise<StopReason | undefined> {
    const groupId = Number(handle["pid"]);
    const leftMs = startedAt.getTime() + timeoutMs - Date.now();
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const stopReason = await waitUntilDeadline(leftMs, stop, (bound) => untilGone(handle, bound));
    const gone = untilGone(handle, AbortSignal.timeout(this.#options.stopGraceMs * 2 + DRAIN_MS));
    if (stopReason)
      await endGroup(
        groupId,
        this.#options.stopGraceMs,
        gone.catch(() => undefined),
      );
    else await killGroup(groupId);
    return stopReason;
  }

  #resultFile(key: string): string | undefined {
    const { resultsDirectory } = this.#options;
    return resultsDirectory === undefined ? undefined : resultFileOf(resultsDirectory, key);
  }

  #ended(outcome: Outcome, key: string): EndedAction {
    const file = this.#resultFile(key);
    return { outcome, remove: async () => (file === undefined ? undefined : rm(file, { force: true })) };
  }

  /** Stops what runs and waits for it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running.values());
    process.off("exit", this.#stopRunning);
  }

  async #unknown(request: LaunchRequest): Promise<string> {
    const names = (await this.#programs.names()).join(", ");
    return `the process runtime has no action for the image ${request.action.image}; it knows ${names}`;
  }

  async #runProgram(
    program: ActionProgram,
    request: LaunchRequest,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { environment, compileCacheDirectory, stopGraceMs } = this.#options;
    const startedAt = new Date();
    if (signal.aborted) {
      return nothingLeft(failedLaunch("cancelled", "cancelled before it started", startedAt, startedAt));
    }
    const key = actionKey(request.action);
    const resultFile = this.#resultFile(key);
    const child = execa(
      process.execPath,
      [program.file, ...program.leadingArguments, ...request.action.command],
      {
        env: childEnvironment({
          inherited: environment,
          action: request.action.environment,
          connectionOnStdin: request.connection !== undefined,
          ...(resultFile === undefined ? {} : { resultFile }),
          deadline: new Date(startedAt.getTime() + request.timeoutMs),
          ...(compileCacheDirectory === undefined ? {} : { compileCacheDirectory }),
        }),
        extendEnv: false,
        detached: true,
        cleanup: false,
        buffer: false,
        reject: false,
        stdin: "pipe",
      },
    );
    const groupId = child.pid;
    if (groupId === undefined) throw new Error((await child).originalMessage ?? "no process was started");

    const log = new LogStream(request.onLog);
    child.stdout.on("data", (chunk: Uint8Array) => log.write("stdout", chunk));
    child.stderr.on("data", (chunk: Uint8Array) => log.write("stderr", chunk));
    // An action that ends without reading its input breaks the pipe: its exit code tells why.
    child.stdin.on("error", () => undefined);
    child.stdin.end(request.connection ? serialiseConnection(request.connection) : "");
    const exited = new Promise<Exit>((resolve) => {
      child.nodeChildProcess.once("exit", (code, by) =>
        resolve({ ...(code === null ? {} : { exitCode: code }), ...(by === null ? {} : { signal: by }) }),
      );
    });
    const { promise: over, resolve: markOver } = Promise.withResolvers<void>();
    this.#running.set(groupId, over);
    this.#keys.add(key);
    try {
      await request.onLaunched?.(await processHandle(groupId));
      const stopReason = await waitUntilDeadline(request.timeoutMs, signal, () => exited);
      if (stopReason) await endGroup(groupId, stopGraceMs, exited);
      const exit = await Promise.race([exited, sleep(DRAIN_MS, {}, { ref: false })]);
      await killGroup(groupId);
      await drained([child.stdout, child.stderr]);
      const outcome = concludeOutcome({
        ...exit,
        ...log.end(),
        ...(stopReason === undefined ? {} : { stopReason }),
        timeoutMs: request.timeoutMs,
        startedAt,
        stoppedAt: new Date(),
      });
      return this.#ended(outcome, key);
    } finally {
      this.#running.delete(groupId);
      this.#keys.delete(key);
      markOver();
    }
  }
}

/** A process outside the action's group may hold a pipe open for ever; it is not waited for. */
async function drained(streams: readonly Readable[]): Promise<void> {
  const ended = Promise.allSettled(streams.map((stream) => finished(stream, { writable: false })));
  const limit = new AbortController();
  await Promise.race([ended, sleep(DRAIN_MS, undefined, { signal: limit.signal }).catch(() => undefined)]);
  limit.abort();
  for (const stream of streams) stream.destroy();
}
