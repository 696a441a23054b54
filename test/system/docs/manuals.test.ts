import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { codeBlocks } from "../../docs/markdown.ts";

const EACH = `for text; do bash -n -c "$text" 2>&1 || echo "in: $text"; done`;

it("every command in a manual is valid for a shell", async () => {
  const docs = (await readdir("docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  const pages = await Promise.all(
    ["README.md", ...docs].map(async (path) => codeBlocks(path, await readFile(path, "utf8"))),
  );
  const commands = pages.flat().filter(({ language }) => language === "sh");

  const { stdout } = await promisify(execFile)("bash", [
    ...["--norc", "-c", EACH, "bash"],
    ...commands.map(({ text }) => text),
  ]);

  expect(commands.length).toBeGreaterThan(0);
  expect(stdout).toBe("");
});
