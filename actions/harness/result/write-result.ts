import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type ActionResult, WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import { printable } from "../../../shared/printable.ts";
import { replaceFile } from "../input/replace-file.ts";
import { writeText } from "./write-text.ts";

/** Where a kubelet reads a container's termination message. */
const TERMINATION_LOG = "/dev/termination-log";
/** Of what is longer it keeps the end, which is no JSON any more. */
const TERMINATION_LOG_BYTES = 4_096;

/**
 * Writes the result everywhere it is expected, stdout last. There a table goes before it; on a terminal, where
 * a machine-readable line is of no use, in its place. Returns why the file could not be written.
 */
export async function writeResult(
  result: ActionResult,
  table: string | undefined,
  resultFile: string | undefined,
): Promise<string | undefined> {
  const line = resultLine(result);
  const problem = resultFile === undefined ? undefined : await replaceFile(resultFile, line);
  const workers = process.env[WORKER_RESULT_FILE];
  // For a worker that has restarted; a running one reads stdout.
  if (workers) await replaceFile(workers, line);
  if (existsSync(TERMINATION_LOG)) {
    await writeFile(TERMINATION_LOG, terminationLine(result)).catch(() => undefined);
  }
  const shown = table === undefined ? line : process.stdout.isTTY ? `${table}\n` : `${table}\n\n${line}`;
  await writeText(process.stdout, shown);
  return problem && `RESULT_FILE ${resultFile} cannot be written: ${problem}`;
}

/** Escaped beyond what JSON asks for: terminals obey these characters, and some readers break lines at them. */
export function resultLine(result: ActionResult): string {
  return `${printable(JSON.stringify(result))}\n`;
}

/** The result, without what was read and learned where a kubelet would not keep all of it. */
export function terminationLine(result: ActionResult): string {
  const line = resultLine(result);
  if (Buffer.byteLength(line) <= TERMINATION_LOG_BYTES) return line;
  const { data: _, hint: __, ...rest } = result;
  return resultLine(rest);
}
