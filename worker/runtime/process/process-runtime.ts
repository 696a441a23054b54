import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { type StopReason, waitUntilDeadline } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import { endGroup, killGroup, signalGroup } from "../../../shared/process-group.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { LogLine, Outcome } from "../../action/action.ts";
import { actionKey } from "../../action/action-key.ts";
import { bootTime, bootTimeIn } from "../../action/boot-time.ts";
import { parseImageReference } from "../../action/image-reference.ts";
import { inputBrokeOff, type Need } from "../leftover.ts";
import { FLOOD_GRACE_MS, LogStream } from "../log-stream.ts";
import { concludeOutcome, failedLaunch, nothingLeft } from "../outcome.ts";
import {
  type Adoption,
  type EndedAction,
  type LaunchHandle,
  LaunchNotRecorded,
  type LaunchRequest,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import type { ActionProgram, ActionPrograms } from "./action-program.ts";
import { childEnvironment } from "./child-environment.ts";
import {
  endProcessesOf,
  type ProcessState,
  processFor,
  readResultFile,
  resultFileOf,
  sweepProcesses,
  untilGone,
} from "./left-processes.ts";
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
  /** Of a worker that may come back; without it nothing is adopted. */
  readonly state?: ProcessState;
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
    // A worker that exits in a hurry and never comes back must not leave actions that nobody hears.
    if (options.state === undefined) process.on("exit", this.#stopRunning);
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
      if (thrown instanceof LaunchNotRecorded) throw thrown;
      const message = textOf(thrown);
      return nothingLeft(failedLaunch("internal", `could not run the action: ${message}`, asked, new Date()));
    }
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const { state, stopGraceMs } = this.#options;
    const key = actionKey(left.action);
    if (state === undefined) return this.#lost(left);
    // Its launch is on record before its connection is handed over: without a handle it has got none.
    if (left.connected && !left.handle && !left.damaged) return this.#notLaunched(state, key);
    const handle = left.handle ?? (await processFor(state, key));
    const runs = handle !== undefined && (await isRunning(handle));
    const stopReason = runs ? await this.#waitForLeft(handle, left, signal) : undefined;
    await endProcessesOf(state, key, stopGraceMs);
    const result = await readResultFile(resultFileOf(state, key));
    if (inputBrokeOff(left.connected, result)) return this.#notLaunched(state, key);
    if (!result && !stopReason) return this.#lost(left);
    const outcome = concludeOutcome({
      ...(result ? { result, exitCode: result.class ? exitCodeOf(result.class) : EXIT_OK } : {}),
      ...defined({ stopReason }),
      lastLines: [],
      timeoutMs: left.timeoutMs,
      startedAt: left.startedAt,
      stoppedAt: new Date(),
    });
    return { kind: "ended", ended: this.#ended(outcome, key) };
  }

  async sweep(keep: (key: string) => Need): Promise<number> {
    const { state, stopGraceMs } = this.#options;
    return sweepProcesses({
      state: state?.id,
      results: state?.results,
      keep: (key) => this.#keys.has(key) || keep(key),
      stopGraceMs,
      nowMs: Date.now(),
      bootTime: bootTime(),
    });
  }

  /** What was started for it cannot do anything, and is taken away. */
  async #notLaunched(state: ProcessState, key: string): Promise<Adoption> {
    await endProcessesOf(state, key, this.#options.stopGraceMs);
    await rm(resultFileOf(state, key), { force: true });
    return { kind: "not-launched" };
  }

  async #lost({ action }: ReturnedAction): Promise<Adoption> {
    const name = parseImageReference(action.image)?.name;
    const program = name === undefined ? undefined : await this.#programs.find(name);
    const reason = "the worker was restarted, and the action's process is gone without a result";
    return { kind: "lost", reason, idempotent: (await program?.isIdempotent()) ?? false };
  }

  /** Waits for a process that is another worker's child; why it was stopped, if it was. */
  async #waitForLeft(
    handle: LaunchHandle,
    { startedAt, timeoutMs, clockSetMs }: ReturnedAction,
    signal: AbortSignal,
  ): Promise<StopReason | undefined> {
    const { stopGraceMs } = this.#options;
    const remainingMs = startedAt.getTime() + timeoutMs - (Date.now() - clockSetMs);
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const stopReason = await waitUntilDeadline(remainingMs, stop, (bound) => untilGone(handle, bound));
    if (stopReason) {
      const gone = untilGone(handle, AbortSignal.timeout(stopGraceMs));
      await endGroup(
        Number(handle["pid"]),
        stopGraceMs,
        gone.catch(() => undefined),
      );
    }
    return stopReason;
  }

  #ended(outcome: Outcome, key: string): EndedAction {
    const { state } = this.#options;
    return {
      outcome,
      remove: async () => (state ? rm(resultFileOf(state, key), { force: true }) : undefined),
    };
  }

  /** Whether the actions that it has can be found. */
  async check(): Promise<string> {
    const names = await this.#programs.names();
    if (names.length === 0) throw new Error("the process runtime finds no action to run");
    return `Node ${process.versions.node}, ${names.length} actions`;
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
    const { environment, compileCacheDirectory, state, stopGraceMs } = this.#options;
    const startedAt = new Date();
    if (signal.aborted) {
      return nothingLeft(failedLaunch("cancelled", "cancelled before it started", startedAt, startedAt));
    }
    const key = actionKey(request.action);
    const resultFile = state && resultFileOf(state, key);
    // A result that is there is another run's.
    if (resultFile !== undefined) await rm(resultFile, { force: true });
    const child = execa(
      process.execPath,
      [program.file, ...program.leadingArguments, ...request.action.command],
      {
        env: childEnvironment({
          inherited: environment,
          action: { ...request.action.environment, ...request.environment },
          connectionOnStdin: request.connection !== undefined,
          key,
          deadline: new Date(startedAt.getTime() + request.timeoutMs),
          deadlineBootTime: bootTimeIn(request.timeoutMs),
          ...(state && resultFile !== undefined ? { state: { id: state.id, resultFile } } : {}),
          ...defined({ compileCacheDirectory }),
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

    const log = new LogStream(request);
    const read = Promise.all([
      readStream(child.stdout, "stdout", log),
      readStream(child.stderr, "stderr", log),
    ]);
    // An action that ends without reading its input breaks the pipe: its exit code tells why.
    child.stdin.on("error", () => undefined);
    const exited = new Promise<Exit>((resolve) => {
      child.nodeChildProcess.once("exit", (code, by) =>
        resolve({ ...(code === null ? {} : { exitCode: code }), ...(by === null ? {} : { signal: by }) }),
      );
    });
    const { promise: over, resolve: markOver } = Promise.withResolvers<void>();
    this.#running.set(groupId, over);
    this.#keys.add(key);
    try {
      await this.#record(request, groupId);
      child.stdin.end(request.connection ? serialiseConnection(request.connection) : "");
      const stopReason = await waitUntilDeadline(request.timeoutMs, signal, () => exited);
      const graceMs = log.isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
      log.pace.hurry();
      if (stopReason) await endGroup(groupId, graceMs, exited);
      const exit = await Promise.race([exited, sleep(DRAIN_MS, {}, { ref: false })]);
      await killGroup(groupId);
      await within(read, DRAIN_MS);
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      const outcome = concludeOutcome({
        ...exit,
        ...log.end(),
        ...defined({ stopReason }),
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

  /**
   * An action waits for its connection, so that one whose launch is not on record has done nothing and is ended. One that
   * brings its own runs already: it goes on, and its mark finds it.
   */
  async #record({ connection, onLaunch }: LaunchRequest, groupId: number): Promise<void> {
    if (!onLaunch) return;
    try {
      await onLaunch(await processHandle(groupId));
    } catch (thrown) {
      if (!connection) return;
      await killGroup(groupId);
      throw thrown;
    }
  }
}

/** Hands a stream over at the pace of its reader. Never rejects. */
async function readStream(stream: Readable, name: LogLine["stream"], log: LogStream): Promise<void> {
  try {
    for await (const chunk of stream) {
      await log.pace.read(chunk, (part) => log.write(name, part));
    }
  } catch {
    // What was read until then is what there is.
  }
}

/** A process outside the action's group may hold a pipe open for ever; it is not waited for. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined)]);
  limit.abort();
}
