import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "../defined.ts";
import { endGroup, killGroup } from "./process-group.ts";

export interface ChildProcessOptions {
  readonly program: string;
  readonly argv: readonly string[];
  /** The whole environment of the child. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the caller writes to standard input; otherwise the child has none. */
  readonly hasInput?: boolean;
  /** Open descriptors that the child inherits, beginning with 3. */
  readonly descriptors?: readonly number[];
}

/** The end of a process: exactly one of the fields is set. */
export interface Exit {
  readonly exitCode?: number;
  readonly signal?: NodeJS.Signals;
}

/** The program could not be started. `code` is that of the system, such as ENOENT. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly code: string | undefined;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
  }
}

/** How long output in the pipes may take to arrive after the process group has ended. */
const DRAIN_MS = 2_000;

/** A child process that leads its own process group, so that everything that it starts ends with it. */
export class ChildProcess {
  readonly groupId: number;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;

  private constructor(
    groupId: number,
    streams: readonly [Writable | null, Readable, Readable],
    exited: Promise<Exit>,
  ) {
    this.groupId = groupId;
    [this.stdin, this.stdout, this.stderr] = streams;
    this.exited = exited;
  }

  /** Starts the process. Rejects with a `StartError`. */
  static async start(options: ChildProcessOptions): Promise<ChildProcess> {
    // Loaded late, because most actions start no program.
    const { execa } = await import("execa");
    const { program, argv, environment, hasInput = false, descriptors = [] } = options;
    const child = execa(program, argv, {
      env: environment,
      extendEnv: false,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe", ...descriptors.map(inherited)],
      detached: true,
      cleanup: false,
      buffer: false,
      reject: false,
      // With NODE_DEBUG=execa the default would log the output.
      verbose: "none",
    });
    if (child.pid === undefined) {
      const { originalMessage = "no process was started", cause } = await child;
      throw new StartError(originalMessage, cause);
    }
    // If a child ends without reading its input, the pipe breaks. Its exit code shows the reason.
    child.stdin?.on("error", () => undefined);
    const exited = new Promise<Exit>((resolve) => {
      child.nodeChildProcess.once("exit", (code, signal) =>
        resolve(defined({ exitCode: code ?? undefined, signal: signal ?? undefined })),
      );
    });
    return new ChildProcess(child.pid, [child.stdin, child.stdout, child.stderr], exited);
  }

  /** Stops the group: SIGTERM, up to `graceMs` for the child to clean up, then SIGKILL. */
  stop(graceMs: number): Promise<void> {
    return endGroup(this.groupId, graceMs, this.exited);
  }

  /** Kills all remaining processes of the group. */
  kill(): Promise<void> {
    return killGroup(this.groupId);
  }

  /**
   * Waits until `read` has taken the rest of the output, then closes the pipes, because a process outside the group may keep
   * them open.
   */
  async drain(read: Promise<unknown>): Promise<void> {
    const timer = new AbortController();
    await Promise.race([read, sleep(DRAIN_MS, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
    this.stdout.destroy();
    this.stderr.destroy();
  }
}

/** Allows any descriptor: execa accepts it, although its types only name those up to 9. */
const inherited = (descriptor: number) => descriptor as 3;
