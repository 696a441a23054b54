import type { Command } from "commander";

/** The argument and the option of every command that reads a template. */
export function addTemplateArgument(command: Command): Command {
  return command
    .argument("<template>", "a Tinkerbell template")
    .option("--map <key=value>", "a value for {{ .key }} in the template; repeat for several", collect, []);
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
