import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const FOLDER = ".github/workflows";
const Workflow = z.looseObject({
  jobs: z.record(
    z.string(),
    z.looseObject({
      "runs-on": z.string(),
      "timeout-minutes": z.number(),
      strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.unknown())) }).optional(),
      steps: z.array(z.looseObject({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
});
const names = await readdir(FOLDER);
const workflows = new Map(
  await Promise.all(
    names.map(
      async (name) => [name, Workflow.parse(parse(await readFile(`${FOLDER}/${name}`, "utf8")))] as const,
    ),
  ),
);
const manifest = JSON.parse(await readFile("package.json", "utf8"));

describe("the workflows", () => {
  it("run scripts of package.json, and actions of a fixed version", () => {
    const steps = [...workflows.values()].flatMap(({ jobs }) =>
      Object.values(jobs).flatMap((job) => job.steps),
    );
    const scripts = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name),
    );

    expect(scripts.length).toBeGreaterThan(3);
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(scripts));
    expect(steps.filter(({ uses }) => uses !== undefined && !/@[0-9a-f]{40}$/.test(uses))).toEqual([]);
  });

  it("test every maintained Node on both platforms", () => {
    const { strategy } = workflows.get("ci.yaml")?.jobs["first-commands"] ?? {};

    expect(strategy?.matrix).toEqual({ node: [22, 24, 26], runner: ["ubuntu-24.04", "ubuntu-24.04-arm"] });
  });

  it("release images, chart, pages and packages, signed or with provenance", () => {
    const { images, npm } = workflows.get("release.yaml")?.jobs ?? {};
    const run = (job = images) => job?.steps.map((step) => step.run ?? "").join("\n") ?? "";

    expect(run()).toContain("npm run release -- --push");
    expect(run().match(/cosign sign/g)).toHaveLength(3);
    expect(run().match(/(?:helm|oras) push/g)).toEqual(["helm push", "oras push"]);
    expect(run(npm).match(/npm publish --provenance/g)).toHaveLength(2);
  });
});

it("the project's URL is that of homepage, everywhere in package.json", () => {
  const { homepage, repository, bugs, author } = manifest;

  expect(repository).toEqual({ type: "git", url: `git+${homepage}.git` });
  expect(bugs).toEqual({ url: `${homepage}/issues` });
  expect(author).toContain(`(${homepage})`);
});
