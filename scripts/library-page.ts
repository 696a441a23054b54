import { readFile } from "node:fs/promises";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from examples/bmc-library.ts: npm run docs -->";

/** The library's page, which shows the example as a whole. */
export async function refreshLibraryPage(current: string): Promise<string> {
  const example = await readFile(new URL("../examples/bmc-library.ts", import.meta.url), "utf8");
  return refreshBetweenMarks(current, START, `\`\`\`ts\n${example}\`\`\``);
}
