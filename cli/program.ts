import { Command } from "commander";
import { DRY_RUN, isDryRun } from "../shared/contract/dry-run.ts";
import { exitCodeOf } from "../shared/contract/exit-code.ts";
import { helpLayout } from "../shared/help-layout.ts";
import { nearestName } from "../shared/nearest-name.ts";
import { printableLines } from "../shared/printable.ts";
import { unknownFlagProblem } from "../shared/unknown-arguments.ts";
import type { SelfProgram } from "../worker/runtimes/self-program.ts";
import type { ProgramCommand } from "./command.ts";
import { programCommands } from "./commands.ts";
import { endWithUsage } from "./usage-problem.ts";

const NAME = "pbnj-worker";
const VERSION_FLAGS = ["--version", "-V"];
const FLAGS = ["--help", "-h", ...VERSION_FLAGS];

const FIRST_STEPS = `
Start here:
  pbnj-worker lab
      simulated machines, to try the other commands
  pbnj-worker action power-status --help
      one action on one machine, without a worker
  pbnj-worker doctor --help
      check what a worker needs, and how to fix it
  pbnj-worker start --help
      run the actions of a tink server`;

/** Runs the command in `argv`. Resolves when the command has ended; most commands end the process. */
export async function runProgram(given: readonly string[], own: SelfProgram): Promise<void> {
  // Wherever it is, as commander would find it.
  const argv = given.some((word) => VERSION_FLAGS.includes(word)) ? ["version"] : given;
  const commands = programCommands(own);
  const [word] = argv;
  const asked = commands.find(({ name }) => name === word);
  const isHelp = argv.some((argument) => argument === "--help" || argument === "-h");
  if (!asked && isHelp && word !== undefined && own.actions.includes(word)) {
    const { runNamed } = await import("../actions/run-named.ts");
    const { INVENTORY_FLAGS } = await import("../actions/inventory-flags.ts");
    await runNamed(`${NAME} action`, argv, INVENTORY_FLAGS);
  }
  const problem =
    asked || word === undefined || FLAGS.includes(word) ? undefined : problemWith(word, commands, own);
  if (problem !== undefined) endWithUsage(NAME, [problem]);

  if (asked?.refusesDryRun && !isHelp && isDryRun(process.env)) {
    endWithUsage(`${NAME} ${asked.name}`, [
      `${DRY_RUN} is set, and this command has no dry run. Fix: unset ${DRY_RUN}`,
    ]);
  }

  const program = createProgram();
  for (const command of commands) {
    const added = program.command(command.name);
    added.summary(command.summary).description(command.summary);
    if (command === asked) await command.define(added);
    else added.usage(command.usage);
  }
  program.addHelpText("after", FIRST_STEPS);
  await program.parseAsync(argv, { from: "user" });
}

function createProgram(): Command {
  return (
    new Command(NAME)
      .description(
        "A Tinkerbell worker for power and boot tasks that runs one small container per BMC action",
      )
      .option("-V, --version", "print the version, the commit and the version of Node")
      .helpCommand("help [command]", "show the help of a command or an action")
      .configureHelp({
        ...helpLayout(),
        subcommandTerm: (command) => `${command.name()} ${command.usage()}`.trimEnd(),
      })
      .configureOutput({
        writeErr: (text) => process.stderr.write(printableLines(text.replace(/^error: /, `${NAME}: `))),
      })
      .showHelpAfterError("(see --help for every option)")
      .showSuggestionAfterError(false)
      // Commander's own errors are usage errors, which exit with 2 everywhere in this project.
      .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodeOf("usage")))
  );
}

function problemWith(
  word: string,
  commands: readonly ProgramCommand[],
  own: SelfProgram,
): string | undefined {
  if (word.startsWith("-")) return unknownFlagProblem(word.split("=", 1)[0] ?? word, FLAGS);
  const names = commands.map(({ name }) => name);
  const command = nearestName(word, names);
  const action = nearestName(word, own.actions);
  const meant = own.actions.includes(word) || command === undefined ? action && `action ${action}` : command;
  return `unknown command ${JSON.stringify(word)}${meant === undefined ? "" : `, did you mean ${meant}?`}`;
}
