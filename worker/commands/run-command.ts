import type { Command } from "commander";
import { addConfigOptions } from "../config/options.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { unknownArguments } from "./unknown-arguments.ts";

/** `pbnj-worker run`. */
export function defineRun(command: Command, own: SelfProgram): void {
  command
    .argument("<template>", "a Tinkerbell template")
    .option("--map <key=value>", "a value for {{ .key }} in the template; repeat for several", collect, [])
    .option("--task <name>", "run only this task");
  addConfigOptions(command)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (template: string, flags: Record<string, unknown>) => {
      const { runTemplate } = await import("./run-template.ts");
      process.exit(await runTemplate(template, flags, unknownArguments(command, command.args.slice(1)), own));
    });
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
