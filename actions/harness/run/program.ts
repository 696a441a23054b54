import { en } from "zod/locales";
import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../../shared/contract/exit-code.ts";
import { givenValue } from "../../../shared/contract/given.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { LogFields, LogLevel } from "../../../shared/logger.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import { version } from "../../../shared/version.ts";
import type { InventoryFlag } from "../../inventory-flags.ts";
import type { Action } from "../action.ts";
import { commonInput } from "../input/common-input.ts";
import { connectionFile } from "../input/connection-input.ts";
import type { InputFields } from "../input/input.ts";
import { readInput } from "../input/read-input.ts";
import { TYPING_MS } from "../input/read-text.ts";
import type { ActionLogger } from "../result/logger.ts";
import { failedResult, type ResultTargets, sentenceOf, writeResult } from "../result/write-result.ts";
import { type Output, writeText } from "../result/write-text.ts";
import { openTrace } from "../trace/open-trace.ts";
import { runAction } from "./run-action.ts";

type Ask = (question: string, signal: AbortSignal) => Promise<boolean>;

export interface ProgramHost {
  readonly argv: readonly string[];
  readonly env: Environment;
  /** The flags that the command line around the action has besides its own. */
  readonly inventoryFlags?: readonly InventoryFlag[];
  /** When the program started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly clock?: Clock | undefined;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Aborted by the first signal with a `BmcError` of class `cancelled`. */
  readonly signal: AbortSignal;
  /** Asks the user a question; undefined without a terminal. */
  readonly ask?: Ask | undefined;
  /** Returns the signal that aborted the action. */
  readonly stoppedBy: () => StopSignal | undefined;
  readonly openLog: (level: LogLevel, context: LogFields) => ActionLogger;
  /** Registers the function that ends the program after an uncaught error and resolves to the exit code. */
  readonly onUncaught: (end: (thrown: Error) => Promise<number>) => void;
}

/** Runs the program of one action: reads the input, runs the action, writes the result. Resolves to the exit code. */
export async function runProgram<Fields extends InputFields>(
  action: Action<Fields>,
  host: ProgramHost,
): Promise<number> {
  const { argv, env, stdin, stdout, stderr, signal, clock } = host;
  z.config(en());
  const flags =
    argv.length === 0
      ? undefined
      : (await import("../input/flags.ts")).parseFlags(action, argv, host.inventoryFlags);
  if (flags?.print) {
    const { helpText } = await import("../input/flags.ts");
    await writeText(stdout, flags.print === "help" ? helpText(action, host.inventoryFlags) : `${version}\n`);
    return EXIT_OK;
  }
  const given = { env, flags: flags?.values ?? {} };
  const trace = await openTrace({
    action: action.name,
    env,
    startedMs: host.startedMs,
    write: (text) => writeText(stdout, text),
  });
  const isForWorker = givenValue(connectionFile.env, given) !== undefined;
  const end = async (whole: ActionResult, { table, sentence, format }: Shown) => {
    const { hint, ...rest } = whole;
    const result = isForWorker && hint !== undefined ? whole : rest;
    const unsent = await trace?.finish(result);
    if (unsent !== undefined) await writeText(stderr, `${unsent}\n`);
    const resultFile = givenValue(commonInput.resultFile.env, given);
    const alone = Object.hasOwn(given.flags, commonInput.output.env);
    const targets = { env, stdout, stderr, alone, table, sentence, format, resultFile };
    const problem = await writeResult(result, targets);
    if (problem !== undefined) await writeText(stderr, `${problem}\n`);
    return result.class === undefined ? EXIT_OK : exitCodeOf(result.class, host.stoppedBy());
  };
  const asked = commonInput.output.schema.safeParse(givenValue(commonInput.output.env, given)?.text);
  const format = asked.success ? asked.data : "auto";
  /** Ends the program with an error, without a table. */
  const fail = (error: BmcError, sayIt: boolean) => {
    const result = failedResult(action.name, error);
    return end(result, { format, sentence: sayIt ? sentenceOf(result, undefined) : undefined });
  };
  host.onUncaught(async (thrown) => {
    await writeText(stderr, `${thrown.stack ?? thrown.message}\n`);
    return fail(new BmcError("internal", thrown.message), false);
  });

  const assumed = { env, flags: { ...flags?.meant, ...given.flags } };
  const isTyped = host.ask !== undefined;
  const read = await readInput(action, {
    ...{ ...assumed, stdin, signal },
    ...(isTyped && { limitMs: TYPING_MS }),
  });
  if (signal.aborted) return fail(BmcError.from(signal.reason), true);
  // The connection that is missing is in the inventory.
  const others = read.ok || flags?.forInventory ? [] : read.problems;
  const problems = [...(flags?.problems ?? []), ...others];
  if (!read.ok || problems.length > 0) {
    await writeText(stderr, usageText(action.name, problems));
    return fail(new BmcError("usage", problems.join("; ")), false);
  }

  const { common, connection, own } = read.input;
  // A worker's policy has allowed the machine; a worker gives no flags, and the connection in a file.
  const isByHand = !isForWorker || argv.length > 0;
  const question = isByHand && !common.dryRun ? action.question?.(own) : undefined;
  if (question !== undefined) {
    const name = connection.machine ?? connection.host;
    const isConfirmed = await host.ask?.(`${name}: ${question}`, signal);
    if (signal.aborted) return fail(BmcError.from(signal.reason), true);
    if (!isConfirmed) return fail(new BmcError("usage", notConfirmed(isConfirmed)), true);
  }
  const log = host.openLog(common.logLevel, { action: action.name, machine: connection.machine });
  const result = await runAction(action, read.input, { signal, log, trace, clock });
  await log.flush();
  const table = result.data === undefined ? undefined : action.table?.(result.data);
  return end(result, { format, table, sentence: sentenceOf(result, connection.host) });
}

interface Shown extends Pick<ResultTargets, "format"> {
  readonly table?: string | undefined;
  readonly sentence: string | undefined;
}

/** Explains why nothing was sent. `answer` is undefined if there was no terminal to ask on. */
export function notConfirmed(answer: false | undefined): string {
  if (answer === false) return "not confirmed, nothing was sent";
  return "not confirmed, nothing was sent: without a terminal, confirm with --yes or YES=true";
}

function usageText(name: string, problems: readonly string[]): string {
  const lines = problems.map((problem) => `  - ${problem}`).join("\n");
  return `${name}: ${problems.length === 1 ? "a problem" : `${problems.length} problems`} with the input, nothing was sent:\n${lines}\nSee --help for every option.\n`;
}
