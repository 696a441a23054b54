import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import { type ActionResult, oneLine, WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import { printable } from "../../../shared/printable.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import { replaceFile } from "../input/replace-file.ts";
import { type Output, writeText } from "./write-text.ts";

/** Where a kubelet reads the termination message. */
const TERMINATION_LOG = "/dev/termination-log";
/** The kubelet keeps the end of a longer one, which is not JSON. */
const TERMINATION_LOG_BYTES = 4_096;

export interface ResultTargets {
  readonly env: Environment;
  readonly stdout: Output;
  readonly table: string | undefined;
  readonly resultFile: string | undefined;
}

/**
 * Writes the result everywhere it is expected, stdout last. There a table precedes it; on a terminal the table replaces it.
 * Returns why the file could not be written.
 */
export async function writeResult(
  result: ActionResult,
  { env, stdout, table, resultFile }: ResultTargets,
): Promise<string | undefined> {
  const line = resultLine(result);
  const problem = resultFile === undefined ? undefined : await replaceFile(resultFile, line);
  const workerFile = env[WORKER_RESULT_FILE];
  // For a worker that was restarted; a running one reads stdout.
  if (workerFile) await replaceFile(workerFile, line);
  if (existsSync(TERMINATION_LOG)) {
    await writeFile(TERMINATION_LOG, terminationLine(result)).catch(() => undefined);
  }
  const shown = table === undefined ? line : stdout.isTTY ? `${table}\n` : `${table}\n\n${line}`;
  await writeText(stdout, shown);
  return problem && `RESULT_FILE ${resultFile} cannot be written: ${problem}`;
}

/** Escapes more than JSON requires: terminals obey these characters, and some readers split lines at them. */
export function resultLine(result: ActionResult): string {
  return `${printable(JSON.stringify(result))}\n`;
}

/** The result, without data and hint if a kubelet would cut it. */
export function terminationLine(result: ActionResult): string {
  const line = resultLine(result);
  if (Buffer.byteLength(line) <= TERMINATION_LOG_BYTES) return line;
  const { data: _, hint: __, ...rest } = result;
  return resultLine(rest);
}

/** The result of an action that failed before it reached its BMC. */
export function failedResult(name: string, error: BmcError): ActionResult {
  return {
    action: name,
    ok: false,
    class: error.class,
    message: oneLine(error.message),
    durationMs: 0,
    roundTrips: 0,
  };
}
