import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import type { ActionResult } from "../../shared/contract/result.ts";

/** Where a kubelet picks up a container's last words (at most 4096 bytes). */
const TERMINATION_LOG = "/dev/termination-log";

/** Writes the result everywhere it is expected, stdout last. Returns what could not be written. */
export async function writeResult(
  result: ActionResult,
  resultFile: string | undefined,
): Promise<readonly string[]> {
  const line = `${JSON.stringify(result)}\n`;
  const problems: string[] = [];
  if (resultFile !== undefined) {
    try {
      await writeFile(`${resultFile}.part`, line, { mode: 0o600 });
      await rename(`${resultFile}.part`, resultFile);
    } catch (thrown) {
      problems.push(`RESULT_FILE ${resultFile} cannot be written: ${(thrown as Error).message}`);
    }
  }
  if (existsSync(TERMINATION_LOG)) await writeFile(TERMINATION_LOG, line).catch(() => undefined);
  await new Promise<void>((resolve) => {
    // A reader that has gone away is no reason to fail: the exit code still tells.
    process.stdout.once("error", () => resolve());
    process.stdout.write(line, () => resolve());
  });
  return problems;
}
