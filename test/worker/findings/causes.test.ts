import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { CAUSE_NAMES, CHECK_NAMES } from "../../../worker/findings/causes.ts";

it("every cause is one that some check finds", async () => {
  const files = (await readdir("worker", { recursive: true })).filter((name) =>
    /\.(ts|json)$/.test(name.replace("findings/causes.json", "")),
  );
  const texts = await Promise.all(files.map((name) => readFile(`worker/${name}`, "utf8")));
  const source = texts.join("\n");

  expect(CAUSE_NAMES.filter((name) => !source.includes(`"${name}"`))).toEqual([]);
});

it("doctor's page has every check, in the order of the report", async () => {
  const page = await readFile("docs/reference/doctor.md", "utf8");
  const [, section = ""] = page.split("\n## Checks\n");

  const rows = [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);

  expect(rows).toEqual(CHECK_NAMES);
});
