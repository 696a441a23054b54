import type { Command, Option } from "commander";
import type { Flag } from "./flag.ts";
import { type Completion, nothing } from "./flag.ts";

/** Returns the flags of a commander command. Their values come from the placeholders in the help: `<a|b>`, `<file>`. */
export function commandFlags(command: Command): readonly Flag[] {
  return command.createHelp().visibleOptions(command).map(flagOfOption);
}

/** Returns what a command accepts besides flags: its subcommands, the choices of its argument, or a file. */
export function operandOf(command: Command): Completion {
  if (command.commands.length > 0) {
    return {
      candidates: command.commands.map((inner) => ({ value: inner.name(), description: inner.summary() })),
    };
  }
  const [argument] = command.registeredArguments;
  if (!argument) return nothing;
  const { argChoices, description } = argument;
  if (!argChoices) return { candidates: [], paths: "files" };
  return { candidates: argChoices.map((value) => ({ value, description })) };
}

function flagOfOption(option: Option): Flag {
  const placeholder = /[<[](.+)[>\]]$/.exec(option.flags)?.[1] ?? "";
  const isFile = placeholder === "file" || placeholder?.startsWith("path") === true;
  return {
    name: option.long ?? option.flags,
    description: option.description,
    value: option.required ? "required" : option.optional ? "optional" : "none",
    choices: placeholder.includes("|") ? placeholder.split("|") : [],
    list: false,
    ...(isFile ? { paths: "files" } : placeholder === "folder" ? { paths: "folders" } : {}),
    repeatable: option.parseArg !== undefined,
  };
}
