import { parseArguments } from "../../shared/contract/given.ts";
import { formatProblem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { fileProblemOf, readTextFile } from "../../shared/read-text-file.ts";
import type { Inventory, Machine } from "../../worker/machines/inventory.ts";
import { parseInventory } from "../../worker/machines/parse-inventory.ts";
import { isAmong, matchesName } from "../../worker/policy/wildcard.ts";

const MOST_AT_ONCE = 1_000;
const OWN_FLAGS = ["--inventory", "--machine", "--all", "--concurrency"];

/** The part of a command line that selects machines. */
export interface Selection {
  readonly inventory: string;
  /** Names, which may have wildcards. */
  readonly machines: readonly string[];
  readonly all: boolean;
  readonly concurrency: string;
  /** The arguments for the action. */
  readonly rest: readonly string[];
}

export function selectionIn(argv: readonly string[]): Selection {
  const { flags, strays } = parseArguments(argv);
  const valuesOf = (name: string) =>
    flags.filter(({ flag }) => flag === name).map(({ value }) => value ?? "");
  const others = flags.filter(({ flag }) => !OWN_FLAGS.includes(flag));
  return {
    inventory: valuesOf("--inventory").at(-1) ?? "",
    machines: valuesOf("--machine").flatMap((value) => value.split(",")),
    all: valuesOf("--all").length > 0,
    concurrency: valuesOf("--concurrency").at(-1) ?? "50",
    rest: [...others.map(({ flag, value }) => (value === undefined ? flag : `${flag}=${value}`)), ...strays],
  };
}

/** Returns the selected machines and what is wrong with the selection. */
export function chooseMachines({
  all,
  concurrency,
  inventory: path,
  machines: patterns,
}: Omit<Selection, "rest">): {
  readonly inventory: Inventory | undefined;
  readonly machines: readonly Machine[];
  readonly problems: string[];
} {
  const problems = concurrencyProblems(concurrency);
  if (all === patterns.length > 0) {
    problems.push(
      all ? "--all cannot be combined with --machine" : "name machines with --machine, or use --all",
    );
  }
  const inventory = readInventory(path, problems);
  const known = inventory?.machines() ?? [];
  if (inventory) problems.push(...unknownMachineProblems("--machine", patterns, known, path));
  if (inventory && all && known.length === 0) problems.push(`${path} lists no machines`);
  return { inventory, machines: known.filter(({ name }) => all || isAmong(name, patterns)), problems };
}

/**
 * Returns the machines out of service that count as failures: machines that were named and not only matched, or all of them
 * if no other machine was selected.
 */
export function countedPauses(
  chosen: readonly { readonly name: string; readonly paused?: unknown }[],
  named: readonly string[],
): ReadonlySet<string> {
  const paused = chosen.filter((machine) => machine.paused);
  const counted = paused.filter(({ name }) => paused.length === chosen.length || named.includes(name));
  return new Set(counted.map(({ name }) => name));
}

export function concurrencyProblems(concurrency: string): string[] {
  if (/^\d+$/.test(concurrency) && +concurrency >= 1 && +concurrency <= MOST_AT_ONCE) return [];
  return [`--concurrency is not a whole number from 1 to ${MOST_AT_ONCE}`];
}

/** A problem for each name or wildcard of `flag` that matches no machine of the inventory at `path`. */
export function unknownMachineProblems(
  flag: string,
  patterns: readonly string[],
  known: readonly Pick<Machine, "name">[],
  path: string,
): readonly string[] {
  const names = known.map(({ name }) => name);
  return patterns
    .filter((pattern) => !names.some((name) => matchesName(pattern, name)))
    .map(
      (pattern) =>
        `${flag} ${JSON.stringify(pattern)} matches no machine of ${path}${suggestion(pattern, names)}`,
    );
}

function readInventory(path: string, problems: string[]): Inventory | undefined {
  const text = inventoryText(path, problems);
  if (text === undefined) return undefined;
  const parsed = parseInventory({ path, text, env: process.env, readFile: readTextFile });
  if (parsed.ok) return parsed.value;
  problems.push(...parsed.problems.map(formatProblem));
  return undefined;
}

/** Reads the file that a flag names. Returns undefined and adds a problem if that fails. */
export function inventoryText(path: string, problems: string[], flag = "--inventory"): string | undefined {
  try {
    return readTextFile(path);
  } catch (thrown) {
    problems.push(path === "" ? `${flag} needs a file` : `${flag}: ${path} ${fileProblemOf(thrown)}`);
    return undefined;
  }
}
