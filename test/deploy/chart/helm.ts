import { accessSync, constants } from "node:fs";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { basename, delimiter, join } from "node:path";
import { execa } from "execa";
import { describe } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { openFolder } from "../../support/folder.ts";
import { type Manifest, manifestOf } from "./manifest.ts";
import type { Values } from "./values.ts";

const CHART = join(import.meta.dirname, "../../../deploy/chart");
export const RELEASE = "demo";
export const NAMESPACE = "tink";
/** A Helm that comes as a Go module was told of no version of Kubernetes, and takes one that is long gone. */
const SURROUNDINGS = ["--namespace", NAMESPACE, "--kube-version", "1.33.0"];
const TIMEOUT_MS = 100_000;

/** Its path, if it is installed. */
export const helm = process.env["HELM"] || findHelm();

/**
 * Tests that need Helm: run where it is in PATH or named by HELM, skipped with a notice where it is not, and an error there
 * when REQUIRE_HELM=1 says that it must be.
 */
export function describeWithHelm(title: string, tests: () => void): void {
  if (helm !== undefined) {
    describe(title, tests);
    return;
  }
  if (process.env["REQUIRE_HELM"] === "1") throw new Error("REQUIRE_HELM=1, but there is no helm");
  process.stderr.write(`skipped, helm is not installed: ${title}\n`);
  describe.skip(title, tests);
}

export interface Run {
  readonly ok: boolean;
  /** stdout when it went well, else stderr. */
  readonly text: string;
}

/** One command of Helm with the chart and these values. */
export async function runHelm(command: readonly string[], values: Values): Promise<Run> {
  return inFolder(async (folder) => {
    const file = join(folder, "values.yaml");
    await writeFile(file, yaml11(values));
    return run([...command, CHART, "--values", file, ...SURROUNDINGS]);
  });
}

export function template(values: Values): Promise<Run> {
  return runHelm(["template", RELEASE], values);
}

/**
 * What the chart makes of each of many values. One run of Helm for all of them: they are the values of as many subcharts,
 * which are this chart under another name each. Objects of other kinds than `kinds` are left out; so are other templates than
 * `templates`, and then the schema of the values: for hundreds of values Helm would take minutes on a busy machine.
 */
export async function renderAll<Name extends string>(
  cases: Readonly<Record<Name, Values>>,
  kinds = /./,
  templates?: readonly string[],
): Promise<Readonly<Record<Name, readonly Manifest[]>>> {
  const names = Object.keys(cases) as Name[];
  const aliases = new Map(names.map((name, index) => [`case-${index}`, name]));
  const output = await inFolder(async (folder) => {
    await mkdir(join(folder, "charts"));
    const isKept = (path: string) =>
      !templates ||
      templates.includes(basename(path)) ||
      !/\/templates\/[^_].*\.yaml$|values\.schema\.json$/.test(path);
    await cp(CHART, join(folder, "charts/pbnj-worker"), { recursive: true, filter: isKept });
    const dependencies = [...aliases.keys()].map((alias) => ({ name: "pbnj-worker", version: "*", alias }));
    const chart = { apiVersion: "v2", name: "cases", version: "1.0.0", dependencies };
    const values = Object.fromEntries([...aliases].map(([alias, name]) => [alias, cases[name]]));
    await writeFile(join(folder, "Chart.yaml"), stringify(chart));
    await writeFile(join(folder, "values.yaml"), yaml11(values));
    return run(["template", RELEASE, folder, ...SURROUNDINGS]);
  });
  if (!output.ok) throw new Error(output.text);
  return byCase(output.text, aliases, names, kinds);
}

/** YAML 1.1, which Helm reads: `off` without quotes is not text there. */
function yaml11(values: Values): string {
  return stringify(values, { version: "1.1" });
}

const SOURCE = /^# Source: cases\/charts\/(case-\d+)\//m;

function byCase<Name extends string>(
  text: string,
  aliases: ReadonlyMap<string, Name>,
  names: readonly Name[],
  kinds: RegExp,
): Readonly<Record<Name, readonly Manifest[]>> {
  const found = {} as Record<Name, Manifest[]>;
  for (const name of names) found[name] = [];
  for (const part of text.split(/^---$/m)) {
    const name = aliases.get(SOURCE.exec(part)?.[1] ?? "");
    const [, kind = ""] = /^kind: (\w+)$/m.exec(part) ?? [];
    if (name !== undefined && kinds.test(kind)) found[name].push(...manifestsOf(part));
  }
  return found;
}

/** Parses manifests like Kubernetes: as YAML 1.1, where a duplicate key is an error. */
function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { version: "1.1" }).flatMap((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) throw problem;
    const value: unknown = document.toJS();
    return value === null || value === undefined ? [] : [manifestOf(value)];
  });
}

async function run(words: readonly string[]): Promise<Run> {
  const { exitCode, stdout, stderr, shortMessage } = await execa(helm ?? "helm", words, {
    timeout: TIMEOUT_MS,
    stdin: "ignore",
    reject: false,
  });
  return exitCode === 0 ? { ok: true, text: stdout } : { ok: false, text: stderr || (shortMessage ?? "") };
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  await using place = await openFolder();
  const { folder } = place;
  return await use(folder);
}

function findHelm(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, "helm")).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
