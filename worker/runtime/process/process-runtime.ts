import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { parseImageReference } from "../../image-reference.ts";
import { waitUntilDeadline } from "../deadline.ts";
import { LogStream } from "../log-stream.ts";
import { concludeOutcome, failedLaunch, nothingLeft } from "../outcome.ts";
import type { EndedAction, LaunchRequest, Runtime } from "../runtime.ts";
import type { ActionProgram, ActionPrograms } from "./action-program.ts";
import { childEnvironment } from "./child-environment.ts";
import { endGroup, killGroup, signalGroup } from "./process-group.ts";
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
    const child = execa(
      process.execPath,
      [program.file, ...program.leadingArguments, ...request.action.command],
      {
        env: childEnvironment({
          inherited: environment,
          action: request.action.environment,
          connectionOnStdin: request.connection !== undefined,
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
    try {
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
      return nothingLeft(outcome);
    } finally {
      this.#running.delete(groupId);
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
