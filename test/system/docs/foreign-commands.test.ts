import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { withoutWrapper } from "../../docs/command-line.ts";
import { foreignProblem, hasParser, parserOf } from "../../docs/foreign-programs.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { shellCommands } from "../../docs/shell-words.ts";

/** Every page of the project that has commands. */
const FOLDERS = ["bench", "deploy", "docs", "examples", "simulators", "test"];
const nested = await Promise.all(
  FOLDERS.map(async (folder) =>
    (await readdir(folder, { recursive: true })).map((name) => `${folder}/${name}`),
  ),
);
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...nested.flat()].filter((name) =>
  name.endsWith(".md"),
);
const commands = (
  await Promise.all(pages.map(async (path) => codeBlocks(path, await readFile(path, "utf8"))))
)
  .flat()
  .filter(({ language }) => language === "sh")
  .flatMap(({ at, text }) =>
    shellCommands(text).map((command) => ({ at, command: withoutWrapper(command) })),
  );
const byParser = Map.groupBy(commands, ({ command }) => parserOf(command));

describe("a manual's command of another program", () => {
  for (const [parser, members] of byParser) {
    if (parser === undefined) continue;
    it(`has flags that ${parser} takes`, async ({ skip }) => {
      if (!(await hasParser(parser))) skip(`${parser} is not installed`);

      for (const { at, command } of members) {
        expect([at, await foreignProblem(command)]).toEqual([at, undefined]);
      }
    });
  }

  it.for([
    "kubectl get pods --lable x",
    "docker run --rm --netwrok host image",
    "systemctl kill --kil-whom=main pbnj-worker",
    "curl --cacrt ca.crt https://worker.example.org",
    "ssh -N -9 host",
    "tar --extarct",
  ])("would be found out if it were %s", async (text, { skip }) => {
    const [command = []] = shellCommands(text);
    const parser = parserOf(command) ?? "";
    if (!(await hasParser(parser))) skip(`${parser} is not installed`);

    expect(await foreignProblem(command)).toMatch(/unknown|unrecognized/);
  });
});
