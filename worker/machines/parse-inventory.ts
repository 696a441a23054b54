import { basename, dirname, resolve } from "node:path";
import { TlsOptions } from "../../shared/contract/connection.ts";
import { defined } from "../../shared/defined.ts";
import { type ValueProblem, valueAt, valueProblems } from "../../shared/document/issue-problems.ts";
import { byLine, type Checked, type Problem } from "../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../shared/document/yaml-document.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { fileProblemOf, type ReadTextFile } from "../../shared/read-text-file.ts";
import { absoluteEntry } from "./absolute-entry.ts";
import { entryLockKey } from "./connect-entry.ts";
import { fileInventory } from "./file-inventory.ts";
import type { Inventory } from "./inventory.ts";
import {
  InventoryFile,
  MachineDefaults,
  MachineEntry,
  type PauseRule,
  pausedProblem,
  refusedKeys,
} from "./inventory-schema.ts";
import { mergeDefaults } from "./merge-defaults.ts";
import { pauseReason } from "./pause.ts";
import type { Environment } from "./run-secret-command.ts";
import { secretWarnings } from "./secret-warnings.ts";
import type { LimitRule } from "./start-limits-of.ts";

export interface InventoryInput {
  readonly path: string;
  readonly text: string;
  /** The variables that `usernameEnv` and similar keys refer to. */
  readonly env: Environment;
  readonly readFile: ReadTextFile;
  /** The names of all actions, with which those of limits are compared. */
  readonly actions?: readonly string[] | undefined;
  /** Skips the check of files that the inventory names, for callers that need no secrets. */
  readonly alone?: true;
}

/**
 * Parses an inventory; every problem has its line. A CA bundle must exist now. A missing secret is only a warning,
 * because it affects one machine and may be mounted later.
 */
export function parseInventory(input: InventoryInput): Checked<Inventory> {
  const parsed = parseFile(input);
  if (!parsed.ok) return parsed;
  const { entries, ...rules } = parsed.value;
  const folder = dirname(resolve(input.path));
  return {
    ...parsed,
    value: fileInventory(entries, input.env, { ...rules, folder, file: basename(input.path) }),
  };
}

/** Parses an inventory into its entries, merged with the defaults and with absolute paths. */
export function parseEntries(input: InventoryInput): Checked<readonly MachineEntry[]> {
  const parsed = parseFile(input);
  return parsed.ok ? { ...parsed, value: parsed.value.entries } : parsed;
}

/** Limits of actions that are probably misspelt, and would hold for nothing. Other projects' actions have other names. */
function misspeltLimits(
  { sourceOf }: YamlDocument,
  limits: readonly LimitRule[],
  known: readonly string[],
): readonly Problem[] {
  return limits.flatMap(({ actions }, limit) =>
    actions.flatMap((name, index) => {
      const meant = known.includes(name) ? undefined : nearestName(name, known);
      if (meant === undefined) return [];
      const path = ["limits", limit, "actions", index];
      const message = `${path.join(".")} ${name} is not an action of this release, did you mean ${meant}?`;
      return [{ source: sourceOf(path), message }];
    }),
  );
}

interface ParsedFile {
  readonly entries: readonly MachineEntry[];
  readonly defaults: unknown;
  readonly pauses: readonly PauseRule[];
  readonly limits: readonly LimitRule[];
}

function parseFile(input: InventoryInput): Checked<ParsedFile> {
  const yaml = parseYaml(input.path, input.text);
  if (!yaml.ok) return yaml;
  const document = yaml.value;
  const file = InventoryFile.safeParse(document.value ?? {});
  if (!file.success) {
    const problems = valueProblems(InventoryFile, document.value ?? {}, file.error.issues, refusedKeys);
    return { ok: false, problems: byLine(describe(document, [], undefined, problems)) };
  }
  const { defaults, limits, machines, paused: pauses } = file.data;
  const problems = [
    ...defaultsProblems(document, defaults),
    ...misspeltLimits(document, limits, input.actions ?? []),
  ];
  const warnings: Problem[] = [];
  const entries: MachineEntry[] = [];
  const lines = new Map<string, string>();

  for (const [index, written] of machines.entries()) {
    const path = ["machines", index];
    const merged = mergeDefaults(defaults ?? {}, written ?? {});
    const parsed = MachineEntry.safeParse(merged);
    const unclear = pausedProblem(written);
    if (unclear) problems.push(...describe(document, path, nameOf(written), [unclear]));
    if (!parsed.success) {
      // Problems of the defaults are reported only once.
      const own = valueProblems(MachineEntry, merged, parsed.error.issues, refusedKeys).filter(
        (problem) =>
          valueAt(written, problem.path) !== undefined || valueAt(defaults, problem.path) === undefined,
      );
      problems.push(...describe(document, path, nameOf(written), own));
    } else {
      const paused = parsed.data.paused ?? pauseReason(pauses, parsed.data.labels);
      const written = { ...parsed.data, ...defined({ paused }) };
      const entry = absoluteEntry(written, dirname(resolve(input.path)));
      entries.push(entry);
      if (!input.alone) {
        problems.push(...bundleProblems(document, path, entry, input.readFile));
        const source = document.sourceOf([...path, "credentials"]);
        const missing = secretWarnings(entry, input);
        warnings.push(
          ...missing.map((message) => ({ source, message: `machine ${entry.name}: ${message}` })),
        );
      }
    }
    const name = nameOf(written);
    if (name === undefined) continue;
    const source = document.sourceOf([...path, "name"]);
    const earlier = lines.get(name);
    if (earlier)
      problems.push({ source, message: `machine ${name}: the name is taken by the machine at ${earlier}` });
    else lines.set(name, source);
  }
  if (problems.length > 0) return { ok: false, problems: byLine(problems) };
  return {
    ok: true,
    value: { entries, defaults, pauses, limits },
    warnings: byLine([...warnings, ...sharedHosts(entries, lines)]),
  };
}

function defaultsProblems(document: YamlDocument, defaults: unknown): readonly Problem[] {
  if (defaults === undefined || defaults === null) return [];
  const unclear = pausedProblem(defaults);
  if (unclear) return describe(document, ["defaults"], undefined, [unclear]);
  const parsed = MachineDefaults.safeParse(defaults);
  if (parsed.success) return [];
  const refused = {
    ...refusedKeys,
    name: "belongs to one machine, not to all",
    host: "belongs to one machine, not to all",
  };
  return describe(
    document,
    ["defaults"],
    undefined,
    valueProblems(MachineDefaults, defaults, parsed.error.issues, refused),
  );
}

function describe(
  document: YamlDocument,
  base: readonly PropertyKey[],
  machine: string | undefined,
  problems: readonly ValueProblem[],
): readonly Problem[] {
  const context = machine === undefined ? "" : `machine ${machine}: `;
  return problems.map(({ path, message }) => {
    const key = path.map(String).join(".") || (base.length > 0 ? "the entry" : "the inventory");
    return { source: document.sourceOf([...base, ...path]), message: `${context}${key} ${message}` };
  });
}

function nameOf(entry: unknown): string | undefined {
  const name = valueAt(entry, ["name"]);
  return typeof name === "string" ? name : undefined;
}

function bundleProblems(
  document: YamlDocument,
  path: readonly PropertyKey[],
  { name, tls: { caFile } }: MachineEntry,
  readFile: ReadTextFile,
): readonly Problem[] {
  if (caFile === undefined) return [];
  const source = document.sourceOf([...path, "tls", "caFile"]);
  try {
    const parsed = TlsOptions.safeParse({ ca: readFile(caFile) });
    if (parsed.success) return [];
    return [{ source, message: `machine ${name}: caFile ${caFile} ${parsed.error.issues[0]?.message}` }];
  } catch (thrown) {
    return [{ source, message: `machine ${name}: caFile ${caFile} ${fileProblemOf(thrown)}` }];
  }
}

/** Warns about machines with the same host. They are allowed, because locks serialize the actions, but seldom intended. */
function sharedHosts(
  entries: readonly MachineEntry[],
  lines: ReadonlyMap<string, string>,
): readonly Problem[] {
  const first = new Map<string, string>();
  return entries.flatMap((entry) => {
    const { name } = entry;
    const key = entryLockKey(entry);
    const earlier = first.get(key);
    if (earlier === undefined) {
      first.set(key, name);
      return [];
    }
    const message = `machine ${name}: has the BMC of ${earlier}; their actions will wait for each other`;
    return [{ source: lines.get(name) ?? name, message }];
  });
}
