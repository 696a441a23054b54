import { stat } from "node:fs/promises";
import { textOf } from "../text-of.ts";
import { readBounded, readMockup } from "./mockup.ts";
import { MOST_BYTES, parseRecording, type Recording } from "./recording.ts";

/** Reads a recording or a mockup folder. Rejects with a message of one line that names it. */
export async function readRecording(path: string): Promise<Recording> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return await readMockup(path);
    if (!found.isFile()) throw new Error("it is neither a file nor a folder");
    return parseRecording(await readBounded(path, MOST_BYTES));
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    throw new Error(isMissing ? `${path} does not exist` : `${path}: ${textOf(thrown)}`, { cause: thrown });
  }
}
