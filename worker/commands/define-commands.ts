import { type Command, Option } from "commander";
import { exitCodeOf } from "../../shared/contract/exit-code.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import type { Setting } from "../config/setting.ts";
import { DEFAULT_TIMEOUT } from "../doctor/doctor-options.ts";
import { problemReport } from "../document/problem-report.ts";
import { policyTestSettings, settingsFor } from "../main/settings.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { type CommandProcess, ownProcess } from "./command-process.ts";

export function defineStart(command: Command, own: SelfProgram, host: CommandProcess = ownProcess): void {
  addSettings(command, settingsFor("start")).action(async (flags: Record<string, unknown>) => {
    const { start } = await import("./start.ts");
    host.exit(await start(flags, unknownArguments(command), own, host));
  });
}

export function defineServe(command: Command, own: SelfProgram, host: CommandProcess = ownProcess): void {
  addSettings(command, settingsFor("serve")).action(async (flags: Record<string, unknown>) => {
    const { start } = await import("./start.ts");
    host.exit(await start(flags, unknownArguments(command), own, host, "serve"));
  });
}

export function defineRun(command: Command, own: SelfProgram, host: CommandProcess = ownProcess): void {
  addTemplateArgument(command)
    .option("--task <name>", "run only this task")
    .option("--output <text|json|yaml>", "output format: a line per change, or one value at the end", "text")
    .option("--dry-run", "print what each action would send, without changing anything (variable DRY_RUN)")
    .option(
      "--even-if <state>",
      "run a Workflow that is in this state and not disabled: no tink server may serve it meanwhile",
    );
  addSettings(command, settingsFor("run")).action(
    async (_template: string | undefined, flags: Record<string, unknown>) => {
      const { runTemplate } = await import("./run-template.ts");
      const { template, unknown } = templateIn(command);
      host.exit(await runTemplate(template, flags, unknown, own, host));
    },
  );
}

export function defineDoctor(command: Command, own: SelfProgram): void {
  command
    .description(
      "Check everything that pbnj-worker start needs, with the same settings, and print what is wrong and how to fix it. " +
        "Changes nothing, takes no work from the tink server, and can run beside a worker.",
    )
    .option("--bmc [machine...]", "log in to the BMCs of these machines, or of all machines, and check them")
    .option("--selector <labels>", "with --bmc: the machines with these labels, such as rack=r12")
    .option(
      "--image <image>",
      "run this action image with --help, as the worker runs actions (without containers: the action of that name)",
    )
    .option("--output <text|json|yaml>", "output format", "text")
    .option("--timeout <duration>", "time for each check and for each machine", DEFAULT_TIMEOUT);
  addSettings(command, settingsFor("start")).action(async (flags: Record<string, unknown>) => {
    const { doctor } = await import("../doctor/doctor.ts");
    process.exit(await doctor(flags, unknownArguments(command), own));
  });
}

const TEST = "test";

export function definePolicy(command: Command, own: SelfProgram, host: CommandProcess = ownProcess): void {
  command
    .usage("test [options] [template]")
    .helpCommand(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      host.stderr.write(problemReport("pbnj-worker policy", problemsWith(command)));
      host.exit(exitCodeOf("usage"));
    });
  const summary = "explain what a worker with these settings allows a template to do; runs nothing";
  const test = command.command(TEST).summary(summary).description(summary);
  addTemplateArgument(test)
    .option(
      "--namespace <name>",
      "the namespace to judge for (default: that of the Workflow, or local for a template)",
    )
    .option("--output <table|json|yaml>", "output format: one line per rule, JSON or YAML", "table");
  addSettings(test, policyTestSettings).action(
    async (_template: string | undefined, flags: Record<string, unknown>) => {
      const { testPolicy } = await import("./test-policy.ts");
      const { template, unknown } = templateIn(test);
      host.exit(await testPolicy(template, flags, unknown, own, host));
    },
  );
}

function problemsWith(command: Command): readonly Problem[] {
  const [word] = command.args;
  // The word may be a flag with a secret, which must not be printed.
  if (word?.startsWith("-")) return unknownArguments(command);
  const message =
    word === undefined
      ? `the command is missing: ${TEST}`
      : `the command ${JSON.stringify(word)} is not known${suggestion(word, [TEST])}`;
  return [{ source: "command line", message }];
}

/** The flags of settings. Unknown arguments are accepted here and reported with all other problems. */
function addSettings(command: Command, settings: readonly Setting[]): Command {
  return addConfigOptions(command, settings).allowUnknownOption().allowExcessArguments();
}

/** Adds the argument and the option of every command that reads a template. */
function addTemplateArgument(command: Command): Command {
  return command
    .argument(
      "[template]",
      "the file of a Tinkerbell template, or of a Workflow that the tink server has rendered",
    )
    .option("--workflow <namespace/name>", "a Workflow of the cluster, instead of a file")
    .option("--map <key=value>", "a value for {{ .key }} in the template; repeat for several", collect)
    .option(
      "--hardware <file>",
      "a Hardware object, for {{ .hardware }} and {{ .Hardware }} in the template",
    );
}

/** Returns the template's file, if there is one, and the problems with the other words. */
function templateIn(command: Command) {
  const { operands, problems } = readWords(command, { most: 1 });
  return { template: operands[0], unknown: problems.map(asProblem) };
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Reports the arguments that `command` did not parse as problems. A command with subcommands knows their flags, too. */
function unknownArguments(command: Command): readonly Problem[] {
  const others = command.commands.flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  return readWords(command, { others }).problems.map(asProblem);
}

function asProblem(message: string): Problem {
  return { source: "command line", message };
}

/**
 * Adds the flags of settings to a command. Commander only collects the text; `loadConfig` applies defaults and the
 * environment and checks everything, so that it reports all problems together.
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
