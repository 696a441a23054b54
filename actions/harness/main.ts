import { en } from "zod/locales";
import * as z from "zod/mini";
import { BmcError } from "../../shared/bmc/errors.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { type ActionResult, oneLine } from "../../shared/contract/result.ts";
import type { Action } from "./action.ts";
import type { InputFields } from "./input.ts";
import { createActionLogger } from "./logger.ts";
import { readInput } from "./read-input.ts";
import { runAction } from "./run-action.ts";
import { writeResult } from "./write-result.ts";

/** The program of one action: input, run, result, exit code. Ends the process. */
export async function main<Fields extends InputFields>(
  action: Action<Fields>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<never> {
  z.config(en());
  const stop = listenForStop();
  process.once("uncaughtException", (thrown) => void endBroken(action.name, thrown));

  const flags = argv.length === 0 ? undefined : (await import("./flags.ts")).parseFlags(action, argv);
  if (flags?.help) {
    const { helpText } = await import("./flags.ts");
    process.stdout.write(helpText(action));
    process.exit(EXIT_OK);
  }
  const read = await readInput(action, {
    env: process.env,
    flags: flags?.values ?? {},
    stdin: process.stdin,
    signal: stop.signal,
  });
  const problems = [...(flags?.problems ?? []), ...(read.ok ? [] : read.problems)];
  if (stop.signal.aborted)
    return end(failure(action.name, BmcError.from(stop.signal.reason)), undefined, stop.by());
  if (!read.ok || problems.length > 0) {
    process.stderr.write(usageText(action.name, problems));
    return end(failure(action.name, new BmcError("usage", problems.join("; "))), process.env["RESULT_FILE"]);
  }

  const { common, connection } = read.input;
  const log = createActionLogger(common.logLevel, { action: action.name, machine: connection.machine });
  const result = await runAction(action, read.input, { signal: stop.signal, log });
  if (process.stderr.isTTY) log[result.ok ? "info" : "error"]({}, result.message);
  await log.flush();
  return end(result, common.resultFile, stop.by());
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

async function end(result: ActionResult, resultFile: string | undefined, by?: StopSignal): Promise<never> {
  const unwritten = await writeResult(result, resultFile || undefined);
  for (const problem of unwritten) process.stderr.write(`${problem}\n`);
  process.exit(result.class === undefined ? EXIT_OK : exitCodeOf(result.class, by));
}

async function endBroken(name: string, thrown: unknown): Promise<never> {
  process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
  return end(
    failure(name, new BmcError("internal", BmcError.from(thrown).message)),
    process.env["RESULT_FILE"],
  );
}

function failure(name: string, error: BmcError): ActionResult {
  return {
    action: name,
    ok: false,
    class: error.class,
    message: oneLine(error.message),
    durationMs: 0,
    roundTrips: 0,
  };
}

function usageText(name: string, problems: readonly string[]): string {
  const lines = problems.map((problem) => `  - ${problem}`).join("\n");
  return `${name}: ${problems.length === 1 ? "a problem" : `${problems.length} problems`} with the input, nothing was sent:\n${lines}\nSee --help for every option.\n`;
}
