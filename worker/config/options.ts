import { type Command, Option } from "commander";
import type { Setting } from "./setting.ts";

/**
 * Adds the flags of settings. Commander only collects the text: `loadConfig` handles defaults, the environment and all checks,
 * so that it reports all problems together.
 */
export function addConfigOptions(command: Command, settings: readonly Setting[]): Command {
  for (const setting of settings) {
    if (setting.flag !== undefined) command.addOption(optionOf(setting, setting.flag));
  }
  return command;
}

function optionOf(setting: Setting, flag: string): Option {
  const value = setting.type === "true|false" ? `[${setting.type}]` : `<${setting.type}>`;
  const facts = [
    ...(setting.default === undefined ? [] : [`default: ${setting.default}`]),
    `env: ${setting.env}`,
  ];
  const option = new Option(`${flag} ${value}`, `${setting.description} (${facts.join("; ")})`);
  option.helpGroup(`${setting.group}:`);
  if (setting.repeatable) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), text]);
  }
  return option;
}
