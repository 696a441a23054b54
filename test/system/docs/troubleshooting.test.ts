import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { StateDisk } from "../../chaos/state-disk.ts";
import type { Need } from "../../docs/failures/failure.ts";
import { failures, provoked } from "../../docs/failures/failures.ts";
import { renderSeen, shownOutputs, TROUBLESHOOTING_PAGE } from "../../docs/failures/manual-page.ts";
import { Stage } from "../../docs/failures/stage.ts";
import { dockerCli } from "../../support/docker.ts";

const TIMEOUT_MS = 120_000;
const page = await readFile(TROUBLESHOOTING_PAGE, "utf8");
const shown = shownOutputs(page);

/** Why something that a failure needs is not there, if it is not. */
const missing: Readonly<Record<Need, string | undefined>> = {
  engine: await dockerCli("version").then(
    () => undefined,
    () => "no container engine answers",
  ),
  disk: await mountProblem(),
  // Another user starts Node wherever it is, but reads no program in a checkout below a private folder.
  user:
    process.getuid?.() === 0 &&
    becomesAnotherUser(["--eval", "fs.accessSync(process.argv[1])", import.meta.filename])
      ? undefined
      : "this user cannot become another one that reads this folder",
};

function becomesAnotherUser(argv: readonly string[]): boolean {
  const user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  return spawnSync("setpriv", [...user, process.execPath, ...argv]).status === 0;
}

async function mountProblem(): Promise<string | undefined> {
  await using stage = await Stage.open();
  const disk = await StateDisk.mount(stage.folder);
  if (typeof disk === "string") return `no file system can be mounted (${disk})`;
  await disk[Symbol.asyncDispose]();
  return undefined;
}

describe.concurrent("the manual shows what really happens when it provokes", () => {
  for (const failure of failures) {
    const { name, needs } = failure;
    const problem = needs && missing[needs];
    if (problem !== undefined) {
      if (needs === "engine" && process.env["REQUIRE_DOCKER"] === "1") {
        throw new Error(`REQUIRE_DOCKER=1, but ${problem}`);
      }
      process.stderr.write(`skipped, ${problem}: the output of ${name} in the manual\n`);
    }
    it.skipIf(problem !== undefined)(name, { timeout: TIMEOUT_MS }, async () => {
      const seen = await provoked(failure);

      expect(renderSeen(seen)).toBe(shown.get(name));
    });
  }
});

it("shows the output of every provoked failure, and of no other", () => {
  const names = failures.map(({ name }) => name);

  expect([...shown.keys()].sort()).toEqual(names.toSorted());
  expect(new Set(names).size).toBe(names.length);
  expect(page.match(/<!-- output of /g)?.length).toBe(names.length);
});

it("has a fix for each", () => {
  const sections = page.split(/^## .*$/m).flatMap((part) => part.split(/^### /m).slice(1));
  const silent = sections.filter((text) => text.includes("<!-- output of ") && !/^\*\*Fix:\*\* /m.test(text));

  expect(silent.map((text) => text.split("\n")[0])).toEqual([]);
  expect(page.split("<!-- output of ").length - 1).toBe(
    sections.reduce((count, text) => count + text.split("<!-- output of ").length - 1, 0),
  );
});
