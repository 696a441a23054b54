import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { parseFlags } from "../../actions/harness/input/flags.ts";
import { actionLibrary } from "../../cli/action-library.ts";
import { programCommands } from "../../cli/commands.ts";
import { selectionIn } from "../../cli/machines/select-machines.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import type { ShellCommand } from "./shell-words.ts";

/** Programs of others that the manuals use. A name that is not here is most likely a mistake. */
const OTHERS = [
  ...[
    "awk",
    "basenc",
    "chown",
    "cp",
    "curl",
    "date",
    "docker",
    "echo",
    "git",
    "grep",
    "head",
    "helm",
    "install",
    "jq",
    "kubectl",
    "maas",
    "mkdir",
    "umask",
    "openssl",
    "printf",
    "rm",
  ],
  ...["sh", "sort", "source", "ssh", "stat", "systemctl", "systemd-sysusers", "tar", "tee", "tr", "uniq"],
  "xargs",
];

/** What is wrong with a command of a manual: the program itself parses what is meant for it. */
export async function commandProblems(command: ShellCommand): Promise<readonly string[]> {
  const [program = "", ...words] = withoutWrapper(command);
  if (program === "pbnj-worker") return pbnjWorkerProblems(words);
  if (program === "npm") return npmProblems(words);
  return OTHERS.includes(program) ? [] : [`no program ${program} is known here`];
}

/** Without variables that are set before it, and without sudo. */
export function withoutWrapper(command: ShellCommand): ShellCommand {
  const start = command.findIndex((word) => !/^\w+=/.test(word));
  const [first, second, , ...rest] = command.slice(start);
  if (first !== "sudo") return command.slice(start);
  return second === "-u" ? rest : command.slice(start + 1);
}

async function npmProblems(words: readonly string[]): Promise<readonly string[]> {
  const [verb, ...rest] = words;
  if (verb !== "run") return ["ci", "install", "publish", "test"].includes(verb ?? "") ? [] : [`npm ${verb}`];
  const { scripts } = JSON.parse(await readFile("package.json", "utf8"));
  const at = rest.findIndex((word) => !word.startsWith("-"));
  const script = rest[at] ?? "";
  if (!(script in scripts)) return [`there is no script ${script}`];
  const after = rest.slice(at + 1);
  return script === "pbnj-worker" ? pbnjWorkerProblems(after[0] === "--" ? after.slice(1) : after) : [];
}

async function pbnjWorkerProblems(words: readonly string[]): Promise<readonly string[]> {
  const [name = "", ...rest] = words;
  if (["--version", "--help"].includes(name)) return [];
  if (name === "help") return helpProblems(rest);
  if (name === "action") return actionProblems(rest);
  if (name === "record") return recordProblems(rest);
  const found = programCommands({ file: "pbnj-worker", actions: catalogue, library: actionLibrary }).find(
    (one) => one.name === name,
  );
  if (!found) return [`there is no command ${name}`];
  const command = new Command(name).exitOverride();
  await found.define(command);
  const [sub] = rest;
  const nested = command.commands.find((one) => one.name() === sub);
  return nested ? argumentProblems(nested, rest.slice(1)) : argumentProblems(command, rest);
}

async function helpProblems([name = "", action = ""]: readonly string[]): Promise<readonly string[]> {
  if (name !== "action") return pbnjWorkerProblems([name]);
  return catalogue.includes(action) ? [] : [`there is no action ${action}`];
}

/** Its own flags, then those of the action, or of a connection. */
async function recordProblems(words: readonly string[]): Promise<readonly string[]> {
  const command = new Command("record").exitOverride();
  const { defineRecord } = await import("../../cli/record/record-command.ts");
  defineRecord(command);
  const { operands, unknown } = command.parseOptions([...words]);
  const action = await loadAction(String(command.opts()["action"] ?? "power-status"));
  const machines = command.opts()["inventory"] === undefined ? 0 : 1;
  const problems = action ? parseFlags(action, unknown).problems : ["there is no such action"];
  return operands.length > machines ? [...problems, "an unexpected argument"] : problems;
}

async function actionProblems([name = "", ...all]: readonly string[]): Promise<readonly string[]> {
  const action = await loadAction(name);
  const at = all.indexOf("--record");
  const flags = at < 0 ? all : all.toSpliced(at, 2);
  return action ? parseFlags(action, selectionIn(flags).rest).problems : [`there is no action ${name}`];
}

function argumentProblems(command: Command, words: readonly string[]): readonly string[] {
  command.exitOverride();
  const { operands, unknown } = command.parseOptions([...words]);
  const isVariadic = command.registeredArguments.at(-1)?.variadic;
  const expected = isVariadic ? operands.length : command.registeredArguments.length;
  command.args = [...operands, ...unknown];
  return readWords(command, { most: expected }).problems;
}
