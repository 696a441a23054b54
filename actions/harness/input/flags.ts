import { Command, Option } from "commander";
import { type GivenFlag, parseArguments } from "../../../shared/contract/given.ts";
import { helpLayout, wrapped } from "../../../shared/help-layout.ts";
import { meantFlag, unexpectedArgument, unknownFlagProblem } from "../../../shared/unknown-arguments.ts";
import type { InventoryFlag } from "../../inventory-flags.ts";
import { commonFields } from "./common-input.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import { type ActionDescription, flagOf, type InputField } from "./input.ts";

export interface ParsedFlags {
  readonly values: Readonly<Record<string, string>>;
  /** The values of misspelt flags. They serve to find all other problems; the input is never used. */
  readonly meant: Readonly<Record<string, string>>;
  /** What to print instead of running the action. */
  readonly print: "help" | "version" | undefined;
  /** Whether a flag is for machines of an inventory, which has the connections. */
  readonly forInventory: boolean;
  readonly problems: readonly string[];
}

/** Returns every field of an action in the order of its help: its own, then common ones, then the connection. */
export function fieldGroups(
  action: Pick<ActionDescription, "input">,
): readonly (readonly [string, readonly InputField[]])[] {
  return [
    ["Options", Object.values(action.input)],
    ["Common", commonFields],
    ["Connection", [machineField, connectionFile, ...connectionFieldTable]],
  ];
}

const PRINTED = new Map<string, "help" | "version">([
  ["-h", "help"],
  ["--help", "help"],
  ["-V", "version"],
  ["--version", "version"],
]);

/**
 * Parses the flags and returns all problems. The last of repeated flags counts. `inventoryFlags` are those of the command line
 * around the action; they are a problem here, because that command line takes them away.
 */
export function parseFlags(
  action: ActionDescription,
  argv: readonly string[],
  inventoryFlags: readonly Pick<InventoryFlag, "name">[] = [],
): ParsedFlags {
  const fields = new Map(
    fieldGroups(action).flatMap(([, group]) => group.map((field) => [field.env, field])),
  );
  const byFlag = new Map([...fields.values()].map((field) => [flagOf(field), field]));
  const shown = [...byFlag].filter(([, { secret }]) => !secret).map(([flag]) => flag);
  const around = inventoryFlags.map(({ name }) => name).filter((flag) => !byFlag.has(flag));
  const known = [...PRINTED.keys(), ...shown, ...around];
  const { flags, strays } = parseArguments(argv);
  const values = new Map<string, string>();
  const meant = new Map<string, string>();
  let forInventory = false;
  const problems: string[] = [];
  for (const given of flags) {
    if (PRINTED.has(given.flag)) continue;
    const field = fields.get(given.variable ?? "");
    if (field) {
      const problem = flagProblem(field, given);
      problems.push(...problem);
      if (problem.length === 0) values.set(field.env, given.value ?? "true");
      continue;
    }
    if (around.includes(given.flag)) {
      problems.push(`${given.flag} needs --inventory`);
      forInventory = true;
      continue;
    }
    problems.push(unknownFlagProblem(given.flag, known));
    const near = meantFlag(given.flag, known);
    const nearField = byFlag.get(near?.flag ?? "");
    if (near && around.includes(near.flag)) forInventory = true;
    if (near?.takesWord && nearField && (given.value !== undefined || nearField.type === "boolean")) {
      meant.set(nearField.env, given.value ?? "true");
    }
  }
  const unknown = strays.filter((stray) => !PRINTED.has(stray));
  problems.push(
    ...unknown.map((stray) =>
      /^-./.test(stray) ? unknownFlagProblem(stray.split("=", 1)[0] ?? stray, known) : unexpectedArgument(),
    ),
  );
  const words = [...flags.map(({ flag }) => flag), ...strays];
  return {
    values: Object.fromEntries(values),
    meant: Object.fromEntries(meant),
    forInventory,
    print: words.map((word) => PRINTED.get(word)).find((printed) => printed !== undefined),
    problems: [...new Set(problems)],
  };
}

function flagProblem(field: InputField, { flag, value }: GivenFlag): readonly string[] {
  if (field.secret) {
    return [
      `${flag} cannot be a flag, because command lines are public: use ${flag}-file or the environment`,
    ];
  }
  return value === undefined && field.type !== "boolean" ? [`${flag} needs a value`] : [];
}

/** `inventoryFlags` are those of the command line around the action, which a container does not have. */
export function helpText(action: ActionDescription, inventoryFlags: readonly InventoryFlag[] = []): string {
  return `${buildCommand(action, inventoryFlags).helpInformation()}\n${environmentHelp(secretFields(action))}\n`;
}

function secretFields(action: ActionDescription): readonly InputField[] {
  return fieldGroups(action).flatMap(([, fields]) => fields.filter(({ secret }) => secret));
}

function buildCommand(action: ActionDescription, inventoryFlags: readonly InventoryFlag[]): Command {
  const command = new Command(action.name)
    .description(action.summary)
    .usage("[options]")
    .helpOption(false)
    .configureHelp(helpLayout());
  command.optionsGroup("Options:").addOption(new Option("-h, --help", "show this help"));
  command.addOption(new Option("-V, --version", "show the version"));
  for (const [group, fields] of fieldGroups(action)) {
    command.optionsGroup(`${group}:`);
    for (const field of fields) {
      const isAround = inventoryFlags.some(({ name }) => name === flagOf(field));
      if (!field.secret && !isAround) command.addOption(optionOf(field));
    }
  }
  if (inventoryFlags.length > 0)
    command.optionsGroup("Machines of an inventory, in place of the connection:");
  for (const { name, value, description, default: fallback } of inventoryFlags) {
    const facts = fallback === undefined ? "" : ` (default: ${fallback})`;
    command.addOption(new Option(`${name}${value === undefined ? "" : ` <${value}>`}`, description + facts));
  }
  return command;
}

function optionOf(field: InputField): Option {
  const flag = flagOf(field);
  const value = field.type === "boolean" ? " [true|false]" : ` <${placeholder(field)}>`;
  const facts = [
    ...(field.choices ? [field.choices.join(", ")] : []),
    ...(field.required ? ["required"] : []),
    ...(field.default === undefined ? [] : [`default: ${field.default}`]),
    `env: ${field.env}`,
  ];
  return new Option(`${flag}${value}`, `${field.description} (${facts.join("; ")})`);
}

function placeholder(field: InputField): string {
  return field.type === "list" ? "list" : field.type;
}

const environmentHelp = (secrets: readonly InputField[]) =>
  wrapped(`Every flag can also be set with the environment variable behind it. Secrets can be set only with a variable, or in the file that a flag names:
${secrets.map(({ env }) => `${env} (or ${env}_FILE)`).join(", ")}.
On a terminal the result is a table or a sentence; elsewhere the last line on stdout is the result as JSON. Exit codes: 0 success, 2 usage, 10 auth, 11 unreachable, 12 tls, 13 unsupported, 14 busy, 15 verify, 16 timeout, 17 state, 18 protocol, 19 bmc, 70 internal, 130/143 cancelled.`);
