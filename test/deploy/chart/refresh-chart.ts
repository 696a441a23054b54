/** Writes the files of the chart that follow from others: `npm run docs:chart`. */
import { readFile, writeFile } from "node:fs/promises";
import { derivedFiles } from "./derived-files.ts";

for (const [path, derive] of Object.entries(derivedFiles)) {
  const file = new URL(`../../../${path}`, import.meta.url);
  await writeFile(file, await derive(await readFile(file, "utf8")));
}
