import type { Command } from "commander";
import { catalogue } from "../../actions/catalogue.ts";
import { INVENTORY_FLAGS } from "../../actions/inventory-flags.ts";
import { parseArguments } from "../../shared/contract/given.ts";
import { defined } from "../../shared/defined.ts";
import { formatProblem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { fileProblemOf, readTextFile } from "../../shared/read-text-file.ts";
import { meantFlag } from "../../shared/unknown-arguments.ts";
import { type LabelledMachine, SELECTOR_SYNTAX, Selector } from "../../worker/document/labels.ts";
import type { Inventory, Machine } from "../../worker/machines/inventory.ts";
import { parseInventory } from "../../worker/machines/parse-inventory.ts";
import { isAmong, matchesName } from "../../worker/policy/wildcard.ts";

const MOST_AT_ONCE = 1_000;
const OWN_FLAGS = INVENTORY_FLAGS.map(({ name }) => name);

/** Which machines of an inventory a command line means: named ones, those with labels, or all. */
export interface MachineChoice {
  /** Names with wildcards. */
  readonly machine?: readonly string[];
  /** In kubectl's syntax. */
  readonly selector?: string;
  readonly all?: boolean;
}

/** What a command line says about machines. */
export interface Selection extends MachineChoice {
  readonly inventory: string;
  readonly concurrency: string;
}

/** The flags of a choice, for a command of commander. */
export function addMachineOptions(command: Command): Command {
  return command
    .option("--machine <name,...>", "these machines, with * for anything; repeat for several", collectNames)
    .option("--selector <labels>", "the machines with these labels, such as rack=r12,role!=spare")
    .option("--all", "all machines of the inventory");
}

/** Collects the values of a flag that may be repeated, each a list with commas. */
export function collectNames(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, ...value.split(",")];
}

/**
 * The selection of an action's command line, and the arguments that are the action's own, whose flags are `actionFlags`. A misspelt
 * flag counts for the selection, so that nothing else is called missing, and is left among the arguments, which makes it a problem.
 */
export function selectionIn(
  argv: readonly string[],
  actionFlags: readonly string[] = [],
): {
  readonly selection: Selection;
  readonly rest: readonly string[];
} {
  const { flags, strays } = parseArguments(argv);
  const known = [...OWN_FLAGS, ...actionFlags];
  const meant = flags.map(({ flag, value }) => ({
    flag: known.includes(flag) ? flag : meantFlag(flag, known)?.flag,
    value,
  }));
  const valuesOf = (name: string) =>
    meant.filter(({ flag }) => flag === name).map(({ value }) => value ?? "");
  const others = flags.filter(({ flag }) => !OWN_FLAGS.includes(flag));
  const selector = valuesOf("--selector").at(-1);
  return {
    selection: {
      inventory: valuesOf("--inventory").at(-1) ?? "",
      machine: valuesOf("--machine").flatMap((value) => collectNames(value)),
      all: valuesOf("--all").length > 0,
      concurrency: valuesOf("--concurrency").at(-1) ?? "50",
      ...defined({ selector }),
    },
    rest: [...others.map(({ flag, value }) => (value === undefined ? flag : `${flag}=${value}`)), ...strays],
  };
}

/** Returns the selected machines and what is wrong with the selection. */
export function chooseMachines({ concurrency, inventory: path, ...choice }: Selection): {
  readonly inventory: Inventory | undefined;
  readonly machines: readonly Machine[];
  readonly problems: string[];
} {
  const problems = concurrencyProblems(concurrency);
  if (!choice.all && !isNarrowed(choice)) {
    problems.push("name machines with --machine, choose them with --selector, or use --all");
  }
  const inventory = readInventory(path, problems);
  const known = inventory?.machines();
  const machines = matching(known, choice, path, problems);
  if (choice.all && known?.length === 0) problems.push(`${path} lists no machines`);
  return { inventory, machines, problems };
}

/** Whether a choice names machines or labels. */
export function isNarrowed({ machine = [], selector }: MachineChoice): boolean {
  return machine.length > 0 || selector !== undefined;
}

/**
 * The machines of the inventory at `path` that a choice means; adds what is wrong with it to `problems`. `known` is undefined if the
 * inventory cannot be read.
 */
export function matching<Known extends LabelledMachine>(
  known: readonly Known[] | undefined,
  { all = false, machine: patterns = [], selector: text }: MachineChoice,
  path: string,
  problems: string[],
): readonly Known[] {
  const given = [
    ...(all ? ["--all"] : []),
    ...(patterns.length > 0 ? ["--machine"] : []),
    ...(text === undefined ? [] : ["--selector"]),
  ];
  if (given.length > 1) problems.push(`${given[0]} cannot be combined with ${given.slice(1).join(" or ")}`);
  const selector = text === undefined ? undefined : Selector.parse(text);
  if (text !== undefined && !selector) problems.push(`--selector ${SELECTOR_SYNTAX}`);
  if (known === undefined) return [];
  problems.push(...unknownMachineProblems("--machine", patterns, known, path));
  const chosen = known.filter(
    (one) => all || isAmong(one.name, patterns) || (selector?.matches(one.labels) ?? false),
  );
  if (selector && chosen.length === 0) {
    problems.push(`--selector ${JSON.stringify(selector.text)} matches no machine of ${path}`);
  }
  return chosen;
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

/** The inventory at `path`; undefined, with problems, if it cannot be read. */
export function readInventory(path: string, problems: string[]): Inventory | undefined {
  const text = inventoryText(path, problems);
  if (text === undefined) return undefined;
  const parsed = parseInventory({
    ...{ path, text, env: process.env, readFile: readTextFile },
    actions: catalogue,
  });
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
