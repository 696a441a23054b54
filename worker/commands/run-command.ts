import type { Command } from "commander";
import { addConfigOptions } from "../config/options.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { addTemplateArgument } from "./template-argument.ts";
import { unknownArguments } from "./unknown-arguments.ts";

/** `pbnj-worker run`. */
export function defineRun(command: Command, own: SelfProgram): void {
  addTemplateArgument(command).option("--task <name>", "run only this task");
  addConfigOptions(command)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (template: string, flags: Record<string, unknown>) => {
      const { runTemplate } = await import("./run-template.ts");
      process.exit(await runTemplate(template, flags, unknownArguments(command, command.args.slice(1)), own));
    });
}
