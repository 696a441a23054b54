import { Command, CommanderError, Option } from "commander";
import { unknownArgumentProblems } from "../../shared/unknown-arguments.ts";
import type { Action } from "./action.ts";
import { commonFields } from "./common-input.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import { flagOf, type InputField } from "./input.ts";

/** What the command line said, by environment name. */
export interface ParsedFlags {
  readonly values: Readonly<Record<string, string>>;
  readonly help: boolean;
  readonly problems: readonly string[];
}

/** Every field of an action in the order of its help: its own, then common ones, then the connection. */
export function fieldGroups(
  action: Pick<Action, "input" | "table">,
): readonly (readonly [string, readonly InputField[]])[] {
  return [
    ["Options", Object.values(action.input)],
    ["Common", commonFields(action)],
    ["Connection", [machineField, connectionFile, ...connectionFieldTable]],
  ];
}

export function parseFlags(action: Action, argv: readonly string[]): ParsedFlags {
  const command = buildCommand(action);
  const problems: string[] = [];
  let rest = [...argv];
  let unknown: string[] = [];
  // Commander stops at the first flag without its value; the rest is still read, so that all problems show.
  for (;;) {
    try {
      const parsed = command.parseOptions(rest);
      unknown = [...parsed.operands, ...parsed.unknown];
      break;
    } catch (thrown) {
      if (!(thrown instanceof CommanderError)) throw thrown;
      const named = rest.find((argument) => thrown.message.includes(`'${argument} <`));
      const at = named === undefined ? rest.length - 1 : rest.lastIndexOf(named);
      problems.push(`${rest[at]} needs a value`);
      rest = rest.toSpliced(at, 1);
    }
  }
  const known = command.options.flatMap(({ hidden, long }) => (hidden || !long ? [] : [long]));
  problems.push(...unknownArgumentProblems(unknown, known));
  const { help, ...given } = command.opts<Record<string, string | boolean>>();
  const values = new Map(Object.entries(given).map(([name, value]) => [name, String(value)]));
  for (const field of secretFields(action)) {
    if (!values.delete(field.env)) continue;
    const flag = flagOf(field);
    problems.push(
      `${flag} is no flag, because command lines are public: use ${flag}-file or the environment`,
    );
  }
  return { values: Object.fromEntries(values), help: help === true, problems };
}

export function helpText(action: Action): string {
  return `${buildCommand(action).helpInformation()}\n${environmentHelp(secretFields(action))}\n`;
}

function secretFields(action: Action): readonly InputField[] {
  return fieldGroups(action).flatMap(([, fields]) => fields.filter(({ secret }) => secret));
}

function buildCommand(action: Action): Command {
  const command = new Command(action.name)
    .description(action.summary)
    .usage("[options]")
    .helpOption(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .configureHelp({ helpWidth: 110 });
  command.optionsGroup("Options:").addOption(new Option("--help", "show this help"));
  for (const [group, fields] of fieldGroups(action)) {
    command.optionsGroup(`${group}:`);
    // A secret as a flag is understood, so that it can be refused with its value kept to itself.
    for (const field of fields) command.addOption(optionOf(field).hideHelp(field.secret === true));
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
  const option = new Option(`${flag}${value}`, `${field.description} (${facts.join("; ")})`);
  option.attributeName = () => field.env;
  return option;
}

function placeholder(field: InputField): string {
  return field.type === "list" ? "list" : field.type;
}

const environmentHelp = (secrets: readonly InputField[]) =>
  `Every flag can be given as the environment variable behind it; secrets only so, or in the file that a flag names:
  ${secrets.map(({ env }) => `${env} (or ${env}_FILE)`).join(", ")}.
The last line on stdout is the result as JSON. Exit codes: 0 success, 2 usage, 10 auth, 11 unreachable, 12 tls,
  13 unsupported, 14 busy, 15 verify, 16 timeout, 17 state, 18 protocol, 19 bmc, 70 internal, 130/143 cancelled.`;
