import { readFile, writeFile } from "node:fs/promises";
import { textOf } from "../shared/text-of.ts";
import { CATALOGUE_FILE, renderCatalogue } from "./action-folders.ts";

const root = new URL("../", import.meta.url);

// The pages read the catalogue, so it is written before they are loaded.
await writeFile(new URL(CATALOGUE_FILE, root), await renderCatalogue());
const { pages } = await import("./pages.ts");
for (const [path, render] of Object.entries(pages)) {
  const file = new URL(path, root);
  const current = await readFile(file, "utf8").catch(() => "");
  try {
    await writeFile(file, await render(current));
  } catch (thrown) {
    throw new Error(`${path}: ${textOf(thrown)}`, { cause: thrown });
  }
}
