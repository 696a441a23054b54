import { en } from "zod/locales";
import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../../shared/contract/exit-code.ts";
import { givenValue } from "../../../shared/contract/given.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { Action } from "../action.ts";
import { commonInput } from "../input/common-input.ts";
import type { InputFields } from "../input/input.ts";
import { readInput } from "../input/read-input.ts";
import { failedResult } from "../result/failed-result.ts";
import { createActionLogger } from "../result/logger.ts";
import { writeResult } from "../result/write-result.ts";
import { writeText } from "../result/write-text.ts";
import { openTrace } from "../trace/open-trace.ts";
import { runAction } from "./run-action.ts";

/** The program of one action: input, run, result, exit code. Ends the process. */
export async function main<Fields extends InputFields>(
  action: Action<Fields>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<never> {
  z.config(en());
  const stop = listenForStop();
  const flags = argv.length === 0 ? undefined : (await import("../input/flags.ts")).parseFlags(action, argv);
  if (flags?.help) {
    const { helpText } = await import("../input/flags.ts");
    await writeText(process.stdout, helpText(action));
    process.exit(EXIT_OK);
  }
  const given = { env: process.env, flags: flags?.values ?? {} };
  const trace = await openTrace({
    action: action.name,
    env: process.env,
    startedMs: Date.now() - performance.now(),
    write: (text) => writeText(process.stdout, text),
  });
  const end = async (result: ActionResult, table?: string) => {
    const untold = await trace?.finish(result);
    if (untold !== undefined) await writeText(process.stderr, `${untold}\n`);
    return endWith({ result, table }, givenValue(commonInput.resultFile.env, given)?.text, stop.by());
  };
  process.on("uncaughtException", async (thrown) => {
    await writeText(process.stderr, `${thrown.stack ?? thrown.message}\n`);
    await end(failedResult(action.name, new BmcError("internal", thrown.message)));
  });

  const read = await readInput(action, { ...given, stdin: () => process.stdin, signal: stop.signal });
  if (stop.signal.aborted) return end(failedResult(action.name, BmcError.from(stop.signal.reason)));
  const problems = [...(flags?.problems ?? []), ...(read.ok ? [] : read.problems)];
  if (!read.ok || problems.length > 0) {
    await writeText(process.stderr, usageText(action.name, problems));
    return end(failedResult(action.name, new BmcError("usage", problems.join("; "))));
  }

  const { common, connection } = read.input;
  const log = createActionLogger(common.logLevel, { action: action.name, machine: connection.machine });
  const result = await runAction(action, read.input, { signal: stop.signal, log, trace });
  const table = tableOf(action, result, read.input.output);
  // A table on a terminal stands in place of the result, and so of its message.
  if (process.stderr.isTTY || (table !== undefined && process.stdout.isTTY)) {
    log[result.ok ? "info" : "error"]({}, result.message);
  }
  await log.flush();
  return end(result, table);
}

function tableOf(
  action: Pick<Action, "table">,
  { data }: ActionResult,
  output: "auto" | "json" | "table",
): string | undefined {
  const wanted = output === "table" || (output === "auto" && process.stdout.isTTY);
  return wanted && data !== undefined ? action.table?.(data) : undefined;
}

interface Stop {
  readonly signal: AbortSignal;
  /** The signal that came, if one did. */
  by(): StopSignal | undefined;
}

/** The first SIGTERM or SIGINT cancels and lets the action clean up; the second ends it at once. */
function listenForStop(): Stop {
  const controller = new AbortController();
  let received: StopSignal | undefined;
  const onSignal = (name: StopSignal) => {
    if (received) process.exit(exitCodeOf("cancelled", name));
    received = name;
    controller.abort(new BmcError("cancelled", `cancelled by ${name}`));
  };
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
  return { signal: controller.signal, by: () => received };
}

async function endWith(
  { result, table }: { readonly result: ActionResult; readonly table: string | undefined },
  resultFile: string | undefined,
  by?: StopSignal,
): Promise<never> {
  const problem = await writeResult(result, table, resultFile);
  if (problem !== undefined) await writeText(process.stderr, `${problem}\n`);
  process.exit(result.class === undefined ? EXIT_OK : exitCodeOf(result.class, by));
}

function usageText(name: string, problems: readonly string[]): string {
  const lines = problems.map((problem) => `  - ${problem}`).join("\n");
  return `${name}: ${problems.length === 1 ? "a problem" : `${problems.length} problems`} with the input, nothing was sent:\n${lines}\nSee --help for every option.\n`;
}
