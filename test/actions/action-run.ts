import { Readable, Writable } from "node:stream";
import { loadAction } from "../../actions/catalogue.ts";
import { createLineLogger } from "../../actions/harness/result/logger.ts";
import { runProgram } from "../../actions/harness/run/program.ts";
import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { StopSignal } from "../../shared/contract/exit-code.ts";
import { type ActionResult, parseResultLine } from "../../shared/contract/result.ts";
import { printable } from "../../shared/printable.ts";
import { quickClock } from "../support/quick-actions.ts";

export interface ActionRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly argv?: readonly string[];
  /** Read to its end; `open` never ends. */
  readonly stdin?: string | { readonly open: true };
  readonly stdoutIsTty?: boolean;
  readonly stderrIsTty?: boolean;
  /** What the person at the terminal answers to a question. */
  readonly answer?: boolean | "no terminal";
  readonly clock?: Clock;
}

export interface EndedAction {
  /** Null when a signal ended its process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the last line of stdout, where that is a result. */
  readonly result: ActionResult | undefined;
}

/** An action's program inside the test's process, with streams, environment and signals of its own. */
export class ActionRun {
  readonly ended: Promise<EndedAction>;
  readonly #stop = new AbortController();
  #stoppedBy: StopSignal | undefined;

  constructor(name: string, options: ActionRunOptions = {}) {
    this.ended = this.#run(name, options);
  }

  /** Does what the handler of the first signal does. */
  kill(signal: StopSignal): void {
    this.#stoppedBy = signal;
    this.#stop.abort(new BmcError("cancelled", `cancelled by ${signal}`));
  }

  async #run(
    name: string,
    {
      env = {},
      argv = [],
      stdin = "",
      stdoutIsTty = false,
      stderrIsTty = false,
      answer = true,
      clock = quickClock,
    }: ActionRunOptions,
  ): Promise<EndedAction> {
    const action = await loadAction(name);
    if (!action) throw new Error(`there is no action ${name}`);
    const stdout = new Captured(stdoutIsTty);
    const stderr = new Captured(stderrIsTty);
    const writeLine = (line: string) => stderr.write(`${printable(line)}\n`);
    const code = await runProgram(action, {
      argv,
      env,
      startedMs: Date.now(),
      clock,
      stdin: () =>
        typeof stdin === "string" ? Readable.from([Buffer.from(stdin)]) : new Readable({ read() {} }),
      stdout,
      stderr,
      ask: answer === "no terminal" ? undefined : async () => answer,
      signal: this.#stop.signal,
      stoppedBy: () => this.#stoppedBy,
      openLog: (level, context) => ({
        ...createLineLogger(level, context, writeLine),
        flush: async () => undefined,
      }),
      onUncaught: () => undefined,
    });
    const last = stdout.text.trimEnd().split("\n").at(-1) ?? "";
    return { code, stdout: stdout.text, stderr: stderr.text, result: parseResultLine(last) };
  }
}

class Captured extends Writable {
  readonly isTTY: boolean;
  text = "";

  constructor(isTTY: boolean) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

export function runAction(name: string, options: ActionRunOptions = {}): Promise<EndedAction> {
  return new ActionRun(name, options).ended;
}

/** The result of an action that must have written one. */
export function resultOf({ result, stdout, stderr }: EndedAction): ActionResult {
  if (!result) throw new Error(`no result\nstdout: ${stdout}\nstderr: ${stderr}`);
  return result;
}
