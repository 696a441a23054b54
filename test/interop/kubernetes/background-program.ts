import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";

const LOG_TAIL = 4_000;

/** A program that runs until it is disposed of, with its output in a file. */
export class BackgroundProgram implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #closed: Promise<unknown>;
  #failure: Error | undefined;

  constructor(program: string, argv: readonly string[], log: string) {
    const output = openSync(log, "a");
    this.#log = log;
    this.#child = spawn(program, argv, { stdio: ["ignore", output, output] });
    closeSync(output);
    this.#child.once("error", (failure) => {
      this.#failure = failure;
    });
    this.#closed = once(this.#child, "close").catch(() => undefined);
    process.once("exit", this.#kill);
  }

  /** With the end of its output. */
  throwIfEnded(): void {
    const { exitCode, signalCode, spawnfile } = this.#child;
    if (!this.#failure && exitCode === null && signalCode === null) return;
    const output = readFileSync(this.#log, "utf8").slice(-LOG_TAIL);
    throw new Error(`${spawnfile} ended with ${exitCode ?? signalCode}: ${output}`, { cause: this.#failure });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#closed;
    process.off("exit", this.#kill);
  }

  readonly #kill = () => void this.#child.kill("SIGKILL");
}
