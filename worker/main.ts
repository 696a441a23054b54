import { Command } from "commander";
import { unknownArgumentProblems } from "../shared/unknown-arguments.ts";
import { version } from "../shared/version.ts";
import { addConfigOptions } from "./config/options.ts";
import type { Problem } from "./document/problem.ts";
import { runTemplate } from "./run-template.ts";
import { start } from "./start.ts";

/** The command line of the worker. */
const program = new Command("pbnj-worker")
  .description("A standing Tinkerbell worker for power and boot tasks: one small container per BMC action")
  .version(version)
  .configureHelp({ helpWidth: 110 })
  .showHelpAfterError("(see --help for every option)")
  // Commander's own complaints are about usage, as exit code 2 says everywhere in this project.
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

addConfigOptions(program.command("start"))
  .description("poll the tink server for actions and run them until stopped")
  // What is not understood is a problem among the others, so that all of them show at once.
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async (flags: Record<string, unknown>, command: Command) =>
    process.exit(await start(flags, unknownArguments(command, command.args))),
  );

addConfigOptions(
  program
    .command("run")
    .argument("<template>", "a Tinkerbell template")
    .option("--map <key=value>", "a value for {{ .key }} in the template; repeat for several", collect, [])
    .option("--task <name>", "run only this task"),
)
  .description("run a template here, without a tink server")
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async (template: string, flags: Record<string, unknown>, command: Command) =>
    process.exit(await runTemplate(template, flags, unknownArguments(command, command.args.slice(1)))),
  );

await program.parseAsync();

function unknownArguments(command: Command, left: readonly string[]): readonly Problem[] {
  const known = command.options.flatMap(({ long }) => long ?? []);
  return unknownArgumentProblems(left, known).map((message) => ({ source: "command line", message }));
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
