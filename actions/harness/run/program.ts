import { en } from "zod/locales";
import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../../shared/contract/exit-code.ts";
import { givenValue } from "../../../shared/contract/given.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { LogFields } from "../../../shared/logger.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import { version } from "../../../shared/version.ts";
import type { Action } from "../action.ts";
import { commonInput } from "../input/common-input.ts";
import type { InputFields } from "../input/input.ts";
import { readInput } from "../input/read-input.ts";
import type { ActionLogger, Level } from "../result/logger.ts";
import { failedResult, writeResult } from "../result/write-result.ts";
import { type Output, writeText } from "../result/write-text.ts";
import { openTrace } from "../trace/open-trace.ts";
import { runAction } from "./run-action.ts";

export interface ProgramHost {
  readonly argv: readonly string[];
  readonly env: Environment;
  /** Milliseconds since the epoch. */
  readonly startedMs: number;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Aborted by the first signal, with a `BmcError` of class `cancelled`. */
  readonly signal: AbortSignal;
  /** The signal that aborted it. */
  readonly stoppedBy: () => StopSignal | undefined;
  readonly openLog: (level: Level, context: LogFields) => ActionLogger;
  /** Takes what ends the program after an uncaught error, and resolves to the exit code. */
  readonly onUncaught: (end: (thrown: Error) => Promise<number>) => void;
}

/** The program of one action: input, run, result. Resolves to the exit code. */
export async function runProgram<Fields extends InputFields>(
  action: Action<Fields>,
  host: ProgramHost,
): Promise<number> {
  const { argv, env, stdin, stdout, stderr, signal } = host;
  z.config(en());
  const flags = argv.length === 0 ? undefined : (await import("../input/flags.ts")).parseFlags(action, argv);
  if (flags?.print) {
    const { helpText } = await import("../input/flags.ts");
    await writeText(stdout, flags.print === "help" ? helpText(action) : `${version}\n`);
    return EXIT_OK;
  }
  const given = { env, flags: flags?.values ?? {} };
  const trace = await openTrace({
    action: action.name,
    env,
    startedMs: host.startedMs,
    write: (text) => writeText(stdout, text),
  });
  const end = async (result: ActionResult, table?: string) => {
    const unsent = await trace?.finish(result);
    if (unsent !== undefined) await writeText(stderr, `${unsent}\n`);
    const resultFile = givenValue(commonInput.resultFile.env, given)?.text;
    const problem = await writeResult(result, { env, stdout, table, resultFile });
    if (problem !== undefined) await writeText(stderr, `${problem}\n`);
    return result.class === undefined ? EXIT_OK : exitCodeOf(result.class, host.stoppedBy());
  };
  host.onUncaught(async (thrown) => {
    await writeText(stderr, `${thrown.stack ?? thrown.message}\n`);
    return end(failedResult(action.name, new BmcError("internal", thrown.message)));
  });

  const read = await readInput(action, { ...given, stdin, signal });
  if (signal.aborted) return end(failedResult(action.name, BmcError.from(signal.reason)));
  const problems = [...(flags?.problems ?? []), ...(read.ok ? [] : read.problems)];
  if (!read.ok || problems.length > 0) {
    await writeText(stderr, usageText(action.name, problems));
    return end(failedResult(action.name, new BmcError("usage", problems.join("; "))));
  }

  const { common, connection } = read.input;
  const log = host.openLog(common.logLevel, { action: action.name, machine: connection.machine });
  const result = await runAction(action, read.input, { signal, log, trace });
  const wantsTable = read.input.output === "table" || (read.input.output === "auto" && stdout.isTTY);
  const table = wantsTable ? tableOf(action, result) : undefined;
  // A table on a terminal replaces the result, and so its message.
  if (stderr.isTTY || (table !== undefined && stdout.isTTY)) {
    log[result.ok ? "info" : "error"]({}, result.message);
  }
  await log.flush();
  return end(result, table);
}

function tableOf(action: Pick<Action, "table">, { data }: ActionResult): string | undefined {
  return data === undefined ? undefined : action.table?.(data);
}

function usageText(name: string, problems: readonly string[]): string {
  const lines = problems.map((problem) => `  - ${problem}`).join("\n");
  return `${name}: ${problems.length === 1 ? "a problem" : `${problems.length} problems`} with the input, nothing was sent:\n${lines}\nSee --help for every option.\n`;
}
