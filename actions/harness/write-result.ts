import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import type { ActionResult } from "../../shared/contract/result.ts";
import { writeText } from "./write-text.ts";

/** Where a kubelet picks up a container's last words (at most 4096 bytes). */
const TERMINATION_LOG = "/dev/termination-log";

/** Writes the result everywhere it is expected, stdout last. Returns why the file could not be written. */
export async function writeResult(
  result: ActionResult,
  resultFile: string | undefined,
): Promise<string | undefined> {
  const line = `${JSON.stringify(result)}\n`;
  const problem = resultFile === undefined ? undefined : await replaceFile(resultFile, line);
  if (existsSync(TERMINATION_LOG)) await writeFile(TERMINATION_LOG, line).catch(() => undefined);
  await writeText(process.stdout, line);
  return problem && `RESULT_FILE ${resultFile} cannot be written: ${problem}`;
}

/** Whoever reads the file finds all of it or none. Returns what went wrong. */
async function replaceFile(path: string, text: string): Promise<string | undefined> {
  const part = `${path}.part`;
  try {
    await writeFile(part, text, { mode: 0o600 });
    await rename(part, path);
    return undefined;
  } catch (thrown) {
    await rm(part, { force: true }).catch(() => undefined);
    return (thrown as Error).message;
  }
}
