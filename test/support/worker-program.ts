import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundledProgram } from "./bundled-program.ts";

const worker = await bundledProgram();
const WAIT_MS = 60_000;

type LogRecord = Readonly<Record<string, unknown>>;

/** A real `pbnj-worker` process; killed when disposed. */
export class WorkerProgram {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  stdout = "";
  stderr = "";
  /** Of this program alone, unless it was given one. */
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
        PATH: process.env["PATH"] ?? "",
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
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
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

  /** The JSON lines of its log so far. */
  get log(): readonly LogRecord[] {
    return this.stderr
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line): LogRecord => JSON.parse(line));
  }

  async untilLogged(message: string, fields: LogRecord = {}): Promise<LogRecord> {
    const fits = (record: LogRecord) =>
      record["msg"] === message && Object.entries(fields).every(([name, value]) => record[name] === value);
    const giveUpAt = performance.now() + WAIT_MS;
    for (;;) {
      const found = this.log.find(fits);
      if (found) return found;
      if (performance.now() > giveUpAt) throw new Error(`never logged ${message}:\n${this.stderr}`);
      await sleep(10);
    }
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
