import type { Command } from "commander";
import { exitCodeOf } from "../../shared/contract/exit-code.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { addConfigOptions } from "../config/options.ts";
import { RULE_SETTINGS } from "../config/rule-settings.ts";
import { problemReport } from "../document/problem-report.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { addTemplateArgument } from "./template-argument.ts";
import { unknownArguments } from "./unknown-arguments.ts";

const TEST = "test";

/** `pbnj-worker policy`, with one subcommand, `test`. */
export function definePolicy(command: Command, own: SelfProgram): void {
  command
    .usage("test [options] <template>")
    .helpCommand(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      process.stderr.write(problemReport("pbnj-worker policy", problemsWith(command)));
      process.exit(exitCodeOf("usage"));
    });
  const summary = "explain what a worker with these settings allows a template to do; runs nothing";
  const test = command.command(TEST).summary(summary).description(summary);
  addTemplateArgument(test)
    .option("--namespace <name>", "the namespace of the workflow", "default")
    .option("--output <table|json>", "output format: one line per rule, or JSON", "table");
  addConfigOptions(test, RULE_SETTINGS)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (template: string, flags: Record<string, unknown>) => {
      const { testPolicy } = await import("./test-policy.ts");
      process.exit(await testPolicy(template, flags, unknownArguments(test, test.args.slice(1)), own));
    });
}

function problemsWith(command: Command): readonly Problem[] {
  const [word] = command.args;
  // It may be a flag with a secret, which must not be printed.
  if (word?.startsWith("-")) return unknownArguments(command, command.args);
  const message =
    word === undefined
      ? `the command is missing: ${TEST}`
      : `the command ${JSON.stringify(word)} is not known${suggestion(word, [TEST])}`;
  return [{ source: "command line", message }];
}
