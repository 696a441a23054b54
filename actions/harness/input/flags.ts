import { Command, Option } from "commander";
import { type GivenFlag, parseArguments } from "../../../shared/contract/given.ts";
import { helpLayout, wrapped } from "../../../shared/help-layout.ts";
import { unknownArgumentProblems } from "../../../shared/unknown-arguments.ts";
import { commonFields } from "./common-input.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import { type ActionDescription, flagOf, type InputField } from "./input.ts";

export interface ParsedFlags {
  readonly values: Readonly<Record<string, string>>;
  /** What to print instead of running the action. */
  readonly print: "help" | "version" | undefined;
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

/** Parses the flags and returns all problems. The last of repeated flags counts. */
export function parseFlags(action: ActionDescription, argv: readonly string[]): ParsedFlags {
  const fields = new Map(
    fieldGroups(action).flatMap(([, group]) => group.map((field) => [field.env, field])),
  );
  const shown = [...fields.values()].filter(({ secret }) => !secret).map(flagOf);
  const { flags, strays } = parseArguments(argv);
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const given of flags) {
    if (PRINTED.has(given.flag)) continue;
    const field = fields.get(given.variable ?? "");
    const problem = field
      ? flagProblem(field, given)
      : unknownArgumentProblems([given.flag], [...PRINTED.keys(), ...shown]);
    problems.push(...problem);
    if (field && problem.length === 0) values.set(field.env, given.value ?? "true");
  }
  const unknown = strays.filter((stray) => !PRINTED.has(stray));
  problems.push(...unknown.flatMap((stray) => unknownArgumentProblems([stray], shown)));
  const words = [...flags.map(({ flag }) => flag), ...strays];
  return {
    values: Object.fromEntries(values),
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

export function helpText(action: ActionDescription): string {
  return `${buildCommand(action).helpInformation()}\n${environmentHelp(secretFields(action))}\n`;
}

function secretFields(action: ActionDescription): readonly InputField[] {
  return fieldGroups(action).flatMap(([, fields]) => fields.filter(({ secret }) => secret));
}

function buildCommand(action: ActionDescription): Command {
  const command = new Command(action.name)
    .description(action.summary)
    .usage("[options]")
    .helpOption(false)
    .configureHelp(helpLayout());
  command.optionsGroup("Options:").addOption(new Option("-h, --help", "show this help"));
  command.addOption(new Option("-V, --version", "show the version"));
  for (const [group, fields] of fieldGroups(action)) {
    command.optionsGroup(`${group}:`);
    for (const field of fields) if (!field.secret) command.addOption(optionOf(field));
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
