import { rm } from "node:fs/promises";
import { ChildProcess } from "../../../shared/child-process/child-process.ts";
import { endGroup, signalGroup } from "../../../shared/child-process/process-group.ts";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { parseImageReference } from "../../../shared/contract/image-reference.ts";
import { type StopReason, waitUntilDeadline } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import { textOf } from "../../../shared/text-of.ts";
import { actionKey, type Outcome } from "../../core/action/action.ts";
import { bootTime, bootTimeIn } from "../../core/action/boot-time.ts";
import { concludeOutcome, failedAction } from "../../core/ports/outcome.ts";
import {
  type Adoption,
  type EndedAction,
  type LaunchHandle,
  type LaunchRequest,
  type Need,
  NotLaunched,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../../core/ports/runtime.ts";
import { unknownImage } from "../action-library.ts";
import { type FilePermit, refusalOf } from "../host-refusal.ts";
import { inputTruncated } from "../orphan.ts";
import type { ActionProgram, ActionPrograms } from "./action-program.ts";
import { followProcess } from "./follow-process.ts";
import {
  endProcessesOf,
  type ProcessState,
  processFor,
  readResultFile,
  resultFileOf,
  sweepProcesses,
  untilGone,
} from "./orphaned-processes.ts";
import { childEnvironment } from "./process-spec.ts";
import { isRunning, processHandle } from "./process-table.ts";

export interface ProcessRuntimeOptions {
  readonly programs: ActionPrograms;
  /** The worker's environment. Only an allow-list of it reaches the child. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Which files of the host actions may use. Default: none. */
  readonly permitFile?: FilePermit;
  readonly stopGraceMs?: number;
  readonly compileCacheDirectory?: string;
  readonly state?: ProcessState;
}

/**
 * Runs this project's actions as child processes, each in its own process group, on machines without a container
 * engine. An image's name selects the action; other images cannot run.
 */
export class ProcessRuntime implements Runtime {
  readonly name = "process";
  readonly #programs: ActionPrograms;
  readonly #options: Required<Pick<ProcessRuntimeOptions, "environment" | "stopGraceMs">> &
    ProcessRuntimeOptions;
  readonly #closing = new AbortController();
  readonly #running = new Map<number, Promise<unknown>>();
  readonly #keys = new Set<string>();
  readonly #stopRunning = () => {
    for (const groupId of this.#running.keys()) signalGroup(groupId, "SIGTERM");
  };

  constructor(options: ProcessRuntimeOptions) {
    this.#programs = options.programs;
    this.#options = { environment: process.env, stopGraceMs: 10_000, ...options };
    // A worker without state adopts nothing later, so it must not leave actions running.
    if (options.state === undefined) process.on("exit", this.#stopRunning);
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const asked = new Date();
    try {
      const refusal = await refusalOf(request.action, this.#options.permitFile);
      if (refusal) return failedAction(refusal.class, refusal.reason, asked);
      const program = await this.#programOf(request.action.image);
      if (!program) return failedAction("usage", await this.#unknown(request), asked);
      return await this.#runProgram(program, request, AbortSignal.any([signal, this.#closing.signal]));
    } catch (thrown) {
      if (thrown instanceof NotLaunched) throw thrown;
      return failedAction("internal", `could not run the action: ${textOf(thrown)}`, asked);
    }
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const { state, stopGraceMs } = this.#options;
    const key = actionKey(left.action);
    if (state === undefined) return this.#lost(left);
    // The launch is recorded before the connection is written, so without a handle the action has no connection.
    if (left.connected && !left.handle && !left.damaged) return this.#notLaunched(state, key);
    const handle = left.handle ?? (await processFor(state, key));
    const runs = handle !== undefined && (await isRunning(handle));
    const stopReason = runs ? await this.#waitForReturned(handle, left, signal) : undefined;
    await endProcessesOf(state, key, stopGraceMs);
    const result = await readResultFile(resultFileOf(state, key));
    if (inputTruncated(left.connected, result)) return this.#notLaunched(state, key);
    if (!result && !stopReason) return this.#lost(left);
    const outcome = concludeOutcome({
      ...(result ? { result, exitCode: result.class ? exitCodeOf(result.class) : EXIT_OK } : {}),
      stopReason,
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

  /** Removes a process that has done nothing. */
  async #notLaunched(state: ProcessState, key: string): Promise<Adoption> {
    await endProcessesOf(state, key, this.#options.stopGraceMs);
    await rm(resultFileOf(state, key), { force: true });
    return { kind: "not-launched" };
  }

  async #lost({ action }: ReturnedAction): Promise<Adoption> {
    const program = await this.#programOf(action.image);
    const reason = "the worker was restarted, and the action's process is gone without a result";
    return { kind: "lost", reason, idempotent: (await program?.isIdempotent()) ?? false };
  }

  async #programOf(image: string): Promise<ActionProgram | undefined> {
    const name = parseImageReference(image)?.name;
    return name === undefined ? undefined : this.#programs.find(name);
  }

  /** Waits for another worker's child process; resolves to why it was stopped, if it was. */
  async #waitForReturned(
    handle: LaunchHandle,
    { startedAt, timeoutMs, clockSetMs }: ReturnedAction,
    signal: AbortSignal,
  ): Promise<StopReason | undefined> {
    const { stopGraceMs } = this.#options;
    const remainingMs = startedAt.getTime() + timeoutMs - (Date.now() - clockSetMs);
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const stopReason = await waitUntilDeadline(remainingMs, stop, (bound) => untilGone(handle, bound));
    if (stopReason) {
      const gone = untilGone(handle, AbortSignal.timeout(stopGraceMs)).catch(() => undefined);
      await endGroup(Number(handle["pid"]), stopGraceMs, gone);
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

  async check(): Promise<string> {
    const names = await this.#programs.names();
    if (names.length === 0) throw new Error("the process runtime finds no action to run");
    return `Node ${process.versions.node}, ${names.length} actions`;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running.values());
    process.off("exit", this.#stopRunning);
  }

  async #unknown(request: LaunchRequest): Promise<string> {
    return unknownImage("process", request.action.image, await this.#programs.names());
  }

  async #runProgram(
    program: ActionProgram,
    request: LaunchRequest,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { environment, compileCacheDirectory, state, stopGraceMs } = this.#options;
    const startedAt = new Date();
    if (signal.aborted) return failedAction("cancelled", "cancelled before it started", startedAt, startedAt);
    const key = actionKey(request.action);
    // An existing result belongs to another run.
    if (state) await rm(resultFileOf(state, key), { force: true });
    this.#keys.add(key);
    const ended = Promise.withResolvers<void>();
    let groupId: number | undefined;
    try {
      const child = await ChildProcess.start({
        program: process.execPath,
        argv: [program.file, ...program.leadingArguments, ...request.action.command],
        environment: childEnvironment({
          inherited: environment,
          action: { ...request.action.environment, ...request.environment },
          connectionOnStdin: request.connection !== undefined,
          key,
          deadline: new Date(startedAt.getTime() + request.timeoutMs),
          deadlineBootTime: bootTimeIn(request.timeoutMs),
          ...defined({
            state: state && { id: state.id, resultFile: resultFileOf(state, key) },
            compileCacheDirectory,
          }),
        }),
        hasInput: true,
      });
      groupId = child.groupId;
      this.#running.set(groupId, ended.promise);
      const { written, ...followed } = await followProcess(
        {
          ...outputOptions(request),
          child,
          beforeInput: () => this.#record(request, child),
          input: request.connection ? serialiseConnection(request.connection) : "",
          timeoutMs: request.timeoutMs,
          stopGraceMs,
        },
        signal,
      );
      const outcome = concludeOutcome({
        ...followed,
        ...written,
        timeoutMs: request.timeoutMs,
        startedAt,
        stoppedAt: new Date(),
      });
      return this.#ended(outcome, key);
    } finally {
      if (groupId !== undefined) this.#running.delete(groupId);
      this.#keys.delete(key);
      ended.resolve();
    }
  }

  /**
   * Records the launch. An action that waits for its connection is killed if that fails, and has done nothing. An action
   * with its own connection is already running; it continues, and is found by its variables.
   */
  async #record({ connection, onLaunch }: LaunchRequest, child: ChildProcess): Promise<void> {
    if (!onLaunch) return;
    try {
      await onLaunch(await processHandle(child.groupId));
    } catch (thrown) {
      if (!connection) return;
      await child.kill();
      throw thrown;
    }
  }
}
