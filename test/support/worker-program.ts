import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledProgram } from "./bundled-program.ts";
import { markedPath } from "./left-actions.ts";
import { type LogRecord, ProgramLog, type StartedProgram } from "./program-log.ts";

const worker = await bundledProgram();
const CLOCK_SCALER = join(import.meta.dirname, "scale-process-clock.ts");

/** The environment of a worker whose time passes so many times as fast. */
export function timesAsFast(factor: number): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${CLOCK_SCALER}`, CLOCK_SCALE: String(factor) };
}

/** A real `pbnj-worker` process; killed when disposed. */
export class WorkerProgram implements StartedProgram {
  readonly child: ChildProcess;
  readonly ended: StartedProgram["ended"];
  stdout = "";
  readonly #log = new ProgramLog();
  /** The state directory of this program alone, unless the environment names one. */
  readonly #stateHome = mkdtempSync(join(tmpdir(), "pbnj-state-"));

  /** `by` is a program, with arguments of its own, that becomes the one that follows, such as `nice`. */
  constructor(
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
    by: readonly string[] = [],
  ) {
    const [program = process.execPath, ...rest] = [...by, process.execPath, worker.file, ...argv];
    this.child = spawn(program, rest, {
      env: {
        PATH: markedPath(process.env["PATH"]),
        XDG_STATE_HOME: this.#stateHome,
        NODE_COMPILE_CACHE: worker.compileCache,
        // Many workers run at once; one whose pages are wanted is told `--http-address 127.0.0.1:0`.
        PBNJ_HTTP_ADDRESS: "off",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#log.add(text));
    // A test that ran out of time disposes of nothing.
    const kill = () => this.child.kill("SIGKILL");
    process.once("exit", kill);
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        process.off("exit", kill);
        resolve({ code, signal });
      });
    });
  }

  get stderr(): string {
    return this.#log.text;
  }

  get log(): readonly LogRecord[] {
    return this.#log.records;
  }

  untilLogged(message: string, fields?: LogRecord): Promise<LogRecord> {
    return this.#log.untilLogged(message, fields);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL");
    await this.ended;
    rmSync(this.#stateHome, { recursive: true, force: true });
  }
}
