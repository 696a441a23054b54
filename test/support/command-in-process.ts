import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { Command } from "commander";
import { catalogue } from "../../actions/catalogue.ts";
import { actionLibrary } from "../../cli/action-library.ts";
import type { CommandProcess } from "../../worker/commands/command-process.ts";
import { definePolicy, defineRun, defineServe, defineStart } from "../../worker/commands/define-commands.ts";
import { bundledProgram } from "./bundled-program.ts";
import { type LogRecord, ProgramLog, type StartedProgram } from "./program-log.ts";

const { file, compileCache } = await bundledProgram();
const own = { file, actions: catalogue, library: actionLibrary, compileCacheDirectory: compileCache };
const COMMANDS = new Map([
  ["start", defineStart],
  ["serve", defineServe],
  ["run", defineRun],
  ["policy", definePolicy],
]);

/**
 * A command of `pbnj-worker` inside this process, with its own environment, output and signals. Actions are processes, unless
 * the arguments choose another runtime. Cancelled when disposed.
 */
export class CommandInProcess implements StartedProgram {
  readonly ended: Promise<{ readonly code: number; readonly signal: null }>;
  stdout = "";
  readonly #log = new ProgramLog();
  readonly #signals = new EventEmitter();
  /** The state directory of this command alone, unless the environment names one. */
  readonly #stateHome = mkdtempSync(join(tmpdir(), "pbnj-state-"));
  #disposed = false;

  constructor([name = "", ...argv]: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const define = COMMANDS.get(name);
    if (!define) throw new Error(`${name} does not run inside this process`);
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly code: number; signal: null }>();
    this.ended = promise;
    const host: CommandProcess = {
      env: {
        PATH: process.env["PATH"],
        XDG_STATE_HOME: this.#stateHome,
        PBNJ_HTTP_ADDRESS: "off",
        ...env,
      },
      stdout: outputTo((text) => {
        this.stdout += text;
      }),
      stderr: outputTo((text) => this.#log.add(text)),
      on: (signal, listener) => {
        this.#signals.on(signal, listener);
        if (this.#disposed && signal === "SIGTERM") queueMicrotask(() => this.#cancel());
      },
      exit: (code) => resolve({ code, signal: null }),
      keepHeapSmall: () => undefined,
      letHeapGrow: () => undefined,
    };
    const command = new Command(name).exitOverride();
    define(command, own, host);
    command.parseAsync(argv, { from: "user" }).catch(reject);
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

  /** Throws before the command listens for the signal, which would end a process. */
  kill(signal: NodeJS.Signals): void {
    if (!this.#signals.emit(signal)) throw new Error(`nothing listens for ${signal} yet`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#cancel();
    await this.ended;
    rmSync(this.#stateHome, { recursive: true, force: true });
  }

  /** The second signal cancels running actions. */
  #cancel(): void {
    this.#signals.emit("SIGTERM");
    this.#signals.emit("SIGTERM");
  }
}

function outputTo(add: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      add(text);
      done();
    },
  });
}
