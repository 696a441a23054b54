import { en } from "zod/locales";
import * as z from "zod/mini";
import { BmcError } from "../../shared/bmc/errors.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import type { Action } from "./action.ts";
import { failedResult } from "./failed-result.ts";
import { parseFlags } from "./flags.ts";
import { createLineLogger } from "./logger.ts";
import { readInput } from "./read-input.ts";
import { runAction } from "./run-action.ts";

/** What a process would be given. */
export interface WithinRequest {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  /** Called with each log line, as JSON. */
  readonly onLine: (line: string) => void;
  readonly signal: AbortSignal;
  /** What `signal` stands for. */
  readonly stoppedBy: StopSignal;
}

/**
 * Runs an action as its program would, inside this process: nothing of the process is read or written but what the
 * request holds. Never rejects.
 */
export async function runWithin(
  action: Action,
  request: WithinRequest,
): Promise<{ readonly exitCode: number; readonly result: ActionResult }> {
  const result = await run(action, request);
  const exitCode = result.class === undefined ? EXIT_OK : exitCodeOf(result.class, request.stoppedBy);
  return { exitCode, result };
}

async function run(action: Action, request: WithinRequest): Promise<ActionResult> {
  const { env, argv, stdin, signal, stoppedBy, onLine } = request;
  z.config(en());
  // As the program's own handler of the signal does.
  const stop = new AbortController();
  const onStop = () => stop.abort(new BmcError("cancelled", `cancelled by ${stoppedBy}`));
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  try {
    const flags = parseFlags(action, argv);
    const given = { env, flags: flags.values };
    const read = await readInput(action, { ...given, stdin: () => once(stdin), signal: stop.signal });
    if (stop.signal.aborted) return failedResult(action.name, BmcError.from(stop.signal.reason));
    const problems = [...flags.problems, ...(read.ok ? [] : read.problems)];
    if (!read.ok || problems.length > 0) {
      return failedResult(action.name, new BmcError("usage", problems.join("; ")));
    }
    const { common, connection } = read.input;
    const log = createLineLogger(
      common.logLevel,
      { action: action.name, machine: connection.machine },
      onLine,
    );
    return await runAction(action, read.input, { signal: stop.signal, log });
  } catch (thrown) {
    return failedResult(action.name, BmcError.from(thrown));
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") yield Buffer.from(text);
}
