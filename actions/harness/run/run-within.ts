import { en } from "zod/locales";
import * as z from "zod/mini";
import type { Provider } from "../../../shared/bmc/operations/provider.ts";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../../shared/contract/exit-code.ts";
import { givenValue } from "../../../shared/contract/given.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { TRACE_PARENT } from "../../../shared/tracing/trace-parent.ts";
import { ACTION_TRACES, type Environment } from "../../../shared/tracing/variables.ts";
import type { Action } from "../action.ts";
import { commonInput } from "../input/common-input.ts";
import type { ParsedFlags } from "../input/flags.ts";
import { readInput } from "../input/read-input.ts";
import { replaceFile } from "../input/replace-file.ts";
import { createLineLogger } from "../result/logger.ts";
import { failedResult, resultLine } from "../result/write-result.ts";
import { openTrace } from "../trace/open-trace.ts";
import { runAction } from "./run-action.ts";

/** What a process of the action would be given. */
export interface WithinRequest {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  /** Called with each log line as JSON. */
  readonly onLine: (line: string) => void;
  /** Called with each line of spans, if `env` asks for spans. */
  readonly onSpans?: (line: string) => void;
  /** Replaces the connection's providers. */
  readonly provider?: Provider | undefined;
  readonly clock?: Clock | undefined;
  readonly signal: AbortSignal;
  /** Returns the signal that an abort of `signal` stands for. */
  readonly stoppedBy: () => StopSignal;
}

/**
 * Runs an action in this process in the same way as its program would. Uses only what the request holds and nothing of the
 * process. Never rejects.
 */
export async function runWithin(
  action: Action,
  request: WithinRequest,
): Promise<{ readonly exitCode: number; readonly result: ActionResult }> {
  const result = await run(action, request);
  const exitCode = result.class === undefined ? EXIT_OK : exitCodeOf(result.class, request.stoppedBy());
  return { exitCode, result };
}

async function run(action: Action, request: WithinRequest): Promise<ActionResult> {
  const { env, argv, onLine, onSpans, provider, clock, signal, stoppedBy } = request;
  const failed = (error: BmcError) => failedResult(action.name, error);
  // The program's own signal handler does the same.
  const stop = new AbortController();
  const onStop = () => stop.abort(new BmcError("cancelled", `cancelled by ${stoppedBy()}`));
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  try {
    z.config(en());
    const flags = argv.length === 0 ? NO_FLAGS : (await import("../input/flags.ts")).parseFlags(action, argv);
    const given = { env, flags: flags.values };
    const trace = await openTrace({
      action: action.name,
      env: withoutCollector(env),
      write: async (text) => onSpans?.(text.trimEnd()),
    });

    const read = await readInput(action, {
      env,
      flags: { ...flags.meant, ...flags.values },
      stdin: () => once(request.stdin),
      signal: stop.signal,
    });
    const problems = [...flags.problems, ...(read.ok ? [] : read.problems)];
    // A program prints its help instead of running, but here nothing would print it.
    if (flags.print) problems.push(`--${flags.print} cannot be used in a worker`);
    let result: ActionResult;
    if (stop.signal.aborted) result = failed(BmcError.from(stop.signal.reason));
    else if (!read.ok || problems.length > 0) result = failed(new BmcError("usage", problems.join("; ")));
    else {
      const { common, connection } = read.input;
      const context = { action: action.name, machine: connection.machine };
      const log = createLineLogger(common.logLevel, context, onLine);
      result = await runAction(action, read.input, { signal: stop.signal, log, trace, provider, clock });
    }

    await trace?.finish(result);
    const file = givenValue(commonInput.resultFile.env, given);
    const problem = file && (await replaceFile(file.text, resultLine(result)));
    if (problem !== undefined) onLine(`${file?.from} ${file?.text} cannot be written: ${problem}`);
    return result;
  } catch (thrown) {
    return failed(BmcError.from(thrown));
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

/**
 * Removes the collector's variables: an action in the worker's process must not send anything to a collector that a template
 * names.
 */
function withoutCollector(env: WithinRequest["env"]): Environment {
  return { [ACTION_TRACES]: env[ACTION_TRACES], [TRACE_PARENT]: env[TRACE_PARENT] };
}

const NO_FLAGS: ParsedFlags = { values: {}, meant: {}, print: undefined, forInventory: false, problems: [] };

async function* once(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") yield Buffer.from(text);
}
