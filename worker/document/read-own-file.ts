import { constants, open } from "node:fs/promises";
import { checkFile } from "./read-text-file.ts";

/**
 * Reads a file that only the worker and its actions should have written: follows no link and waits for no pipe. Rejects
 * with a `FileProblem` or a system error.
 */
export async function readOwnFile(path: string, largestBytes: number): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    checkFile(await file.stat(), largestBytes);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
