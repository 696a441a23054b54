import { readFile } from "node:fs/promises";
import { DRIVER_NAMES, methodsOf, OPERATIONS } from "../shared/bmc/operations/table.ts";
import { markdownTable } from "./markdown-table.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from shared/bmc/operations: npm run docs -->";

/** The library's page: the methods of all operations, described by their doc comments. */
export async function refreshLibraryPage(current: string): Promise<string> {
  const rows = await Promise.all(
    DRIVER_NAMES.map(async (driver) => {
      const file = `shared/bmc/operations/${driver}.ts`;
      const source = await readFile(new URL(`../${file}`, import.meta.url), "utf8");
      const names = Object.keys(methodsOf(driver, () => Promise.reject()));
      return names.map((name, index) => [
        index === 0 ? OPERATIONS[driver].title : "",
        ...describeMethod(name, file, source),
      ]);
    }),
  );
  const table = markdownTable(["operation", "method", "resolves to", "description"], rows.flat());
  return refreshBetweenMarks(current, START, table);
}

/** Signature, result and doc comment, as Biome formats them. */
function describeMethod(name: string, file: string, source: string): readonly string[] {
  const start = source.indexOf(`\n    ${name}: (`);
  const before = source.slice(0, start).trimEnd();
  const signature = source.slice(start, source.indexOf(" =>\n", start));
  const [, parameters, result] = /\((.*)\): Promise<(.*)>$/s.exec(signature) ?? [];
  if (start < 0 || !before.endsWith("*/") || parameters === undefined || result === undefined) {
    throw new Error(`${file}: the method ${name} lacks a doc comment or the type of its result`);
  }
  const named = [...parameters.matchAll(/(?:^|,)\s*(\w+\??):/g)].map(([, parameter]) => parameter);
  const comment = before.slice(before.lastIndexOf("/**") + 3, -2).replace(/^\s*\* ?/gm, "");
  return [`\`${name}(${named.join(", ")})\``, `\`${result}\``, comment.trim().replace(/\s+/g, " ")];
}
