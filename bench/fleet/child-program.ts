import { type ChildProcess, fork } from "node:child_process";
import type { z } from "zod";

/** Far above what any of the programs needs for one answer that it gives at once. */
const ANSWER_TIMEOUT_MS = 60_000;

/** A program of the benchmark in a process of its own, which receives commands and returns results. */
export class ChildProgram {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #exited: Promise<void>;
  #end: string | undefined;

  /** `file` is an absolute path; `name` is for messages. */
  constructor(name: string, file: string, argv: readonly string[] = []) {
    this.#name = name;
    this.#child = fork(file, argv, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#exited = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => {
        this.#end = signal ?? `code ${code}`;
        resolve();
      });
    });
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.#name} was not started`);
    return this.#child.pid;
  }

  tell(message: Readonly<Record<string, unknown>>): void {
    this.#child.send(message);
  }

  /** The next message of that shape. Rejects when the program ends, or after `withinMs`. */
  hear<T>(schema: z.ZodType<T>, withinMs = ANSWER_TIMEOUT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: unknown) => {
        const parsed = schema.safeParse(message);
        if (parsed.success) settle(() => resolve(parsed.data));
      };
      const onExit = () => settle(() => reject(new Error(`${this.#name} ended with ${this.#end}`)));
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`${this.#name} said nothing for ${withinMs / 1_000} s`)));
      }, withinMs);
      const settle = (end: () => void) => {
        clearTimeout(timer);
        this.#child.off("message", onMessage).off("exit", onExit);
        end();
      };
      this.#child.on("message", onMessage).once("exit", onExit);
      if (this.#end !== undefined) onExit();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
