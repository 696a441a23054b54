import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";

/** Puts the text of a file in place of each `readText("<file>")` in the module of the status page's assets. */
export const textFiles: Plugin = {
  name: "text-files",
  setup(build) {
    build.onLoad({ filter: /[/\\]status[/\\]assets\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const calls = [...source.matchAll(/readText\("([^"]+)"\)/g)];
      const texts = await Promise.all(
        calls.map(([, file = ""]) => readFile(join(dirname(path), file), "utf8")),
      );
      const contents = calls.reduce(
        (text, [call], index) => text.replace(call, () => JSON.stringify(texts[index])),
        source,
      );
      return { contents, loader: "ts" };
    });
  },
};
