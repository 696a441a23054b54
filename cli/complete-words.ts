import type { Command } from "commander";
import type { SelfProgram } from "../worker/runtimes/self-program.ts";
import type { ProgramCommand } from "./command.ts";
import { programCommands } from "./commands.ts";
import { completeFlags } from "./completion/complete-flags.ts";
import { type Completion, nothing } from "./completion/flag.ts";
import type { InventoryChoices } from "./completion/inventory-choices.ts";

export interface CompletionContext {
  readonly own: SelfProgram;
  /** Whether the shell shows descriptions; descriptions of actions require loading all of them. */
  readonly described: boolean;
}

/** Returns the candidates for `current`. `earlier` holds the words between the program's name and `current`. */
export async function completeWords(
  earlier: readonly string[],
  current: string,
  context: CompletionContext,
): Promise<Completion> {
  const [name, ...rest] = earlier;
  const commands = programCommands(context.own);
  if (name === undefined) {
    const help = { value: "help", description: "show the help of a command or an action" };
    return current.startsWith("-")
      ? { candidates: PROGRAM_FLAGS }
      : { candidates: [...commands.map(described), help] };
  }
  if (name === "help") {
    if (rest.length === 0) return { candidates: commands.map(described) };
    return rest.length === 1 && rest[0] === "action" ? actionNames(context) : nothing;
  }
  if (name === "action") return completeAction(rest, current, context);
  const command = commands.find((candidate) => candidate.name === name);
  return command ? completeCommand(command, rest, current) : nothing;
}

const PROGRAM_FLAGS = [
  { value: "--help", description: "show every command" },
  { value: "--version", description: "print the version, the commit and the version of Node" },
];

function described({ name, summary }: ProgramCommand) {
  return { value: name, description: summary };
}

async function completeAction(
  [name, ...rest]: readonly string[],
  current: string,
  context: CompletionContext,
): Promise<Completion> {
  if (name === undefined) return current.startsWith("-") ? { candidates: [HELP_FLAG] } : actionNames(context);
  const { loadAction } = await import("../actions/catalogue.ts");
  const { actionFlags } = await import("./completion/action-flags.ts");
  const action = await loadAction(name);
  if (!action) return nothing;
  const known = await knownMachines(rest);
  return completeFlags(known.flags(actionFlags(action)), rest, current);
}

const HELP_FLAG = { value: "--help", description: "show the actions" };

async function actionNames({ own, described }: CompletionContext): Promise<Completion> {
  if (!described) return { candidates: own.actions.map((value) => ({ value, description: "" })) };
  const { loadActions } = await import("./list-actions.ts");
  const actions = await loadActions();
  return { candidates: actions.map(({ name, summary }) => ({ value: name, description: summary })) };
}

async function completeCommand(
  asked: ProgramCommand,
  earlier: readonly string[],
  current: string,
): Promise<Completion> {
  const { Command } = await import("commander");
  const command = new Command(asked.name);
  await asked.define(command);
  return completeDefined(command, earlier, current);
}

/** The first argument of a command with subcommands is one of them. */
async function completeDefined(
  command: Command,
  earlier: readonly string[],
  current: string,
): Promise<Completion> {
  const [word, ...rest] = earlier;
  const inner = command.commands.find((candidate) => candidate.name() === word);
  if (inner) return completeDefined(inner, rest, current);
  const { commandFlags, operandOf } = await import("./completion/command-flags.ts");
  const known = await knownMachines(earlier);
  const operand = command.name() === RECORD ? known.operand : operandOf(command);
  return completeFlags(known.flags(commandFlags(command)), earlier, current, operand);
}

/** The only command whose argument is a machine. */
const RECORD = "record";

/** What the inventory of the command line knows. Loads the code only if there is one: every TAB starts the program. */
async function knownMachines(words: readonly string[]) {
  if (!words.some((word) => word.startsWith("--inventory"))) return NO_MACHINES;
  const { readInventoryChoices } = await import("./completion/inventory-choices.ts");
  return readInventoryChoices(words);
}

const NO_MACHINES: InventoryChoices = { flags: (flags) => flags, operand: nothing };
