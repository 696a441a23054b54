import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const ROOT = join(import.meta.dirname, "../..");
const WORKFLOWS = join(ROOT, ".github/workflows");

const Step = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  env: z.record(z.string(), z.unknown()).optional(),
});
const Workflow = z.object({
  permissions: z.record(z.string(), z.string()),
  env: z.record(z.string(), z.unknown()).optional(),
  jobs: z.record(
    z.string(),
    z.object({ steps: z.array(Step), env: z.record(z.string(), z.unknown()).optional() }),
  ),
});

const workflows = readdirSync(WORKFLOWS).map((name) => {
  const text = readFileSync(join(WORKFLOWS, name), "utf8");
  return { name, text, ...Workflow.parse(parse(text)) };
});
const steps = workflows.flatMap(({ name, jobs }) =>
  Object.values(jobs).flatMap((job) => job.steps.map((step) => ({ workflow: name, ...step }))),
);

test("workflows name the programs of others by commit, and the version beside it", () => {
  const lines = workflows.flatMap(({ text }) => text.split("\n").filter((line) => line.includes("uses:")));

  expect(lines.length).toBeGreaterThan(10);
  expect(
    lines.filter((line) => !/uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
  ).toEqual([]);
});

test("workflows may only read, and keep no token in the checkout", () => {
  expect(workflows.map(({ permissions }) => permissions)).toEqual(
    workflows.map(() => ({ contents: "read" })),
  );
  const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
  expect(checkouts.filter(({ with: given }) => given?.["persist-credentials"] !== false)).toEqual([]);
});

test("a secret is given to the step that needs it, and to no other", () => {
  const wide = workflows.flatMap(({ env, jobs }) => [env, ...Object.values(jobs).map((job) => job.env)]);
  const secret = (env: object | undefined) => JSON.stringify(env ?? {}).includes("secrets.");

  expect(wide.filter(secret)).toEqual([]);
  expect(steps.filter(({ env }) => secret(env)).every(({ run = "" }) => !run.includes("npm"))).toBe(true);
});

test("where secrets or signatures are, packages run no scripts when they are installed", () => {
  const signing = workflows.filter(({ text }) => /secrets\.|id-token: write/.test(text));
  const installs = signing.flatMap(({ name }) =>
    steps.filter(({ workflow, run }) => workflow === name && run?.startsWith("npm ci")),
  );

  expect(installs.length).toBeGreaterThan(0);
  expect(installs.filter(({ run }) => !run?.includes("--ignore-scripts"))).toEqual([]);
});

test("every package of the lock file has its hash", () => {
  const lock = z
    .object({ packages: z.record(z.string(), z.object({ integrity: z.string().optional() })) })
    .parse(JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")));
  const { "": _, ...packages } = lock.packages;

  const without = Object.entries(packages).filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));

  expect(without.map(([name]) => name)).toEqual([]);
});
