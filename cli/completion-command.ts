import { Argument, type Command } from "commander";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import { suggestion } from "../shared/nearest-name.ts";
import { readWords } from "../shared/unknown-arguments.ts";
import { bashScript } from "./completion/bash.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";
import { endWithUsage } from "./usage-problem.ts";

const SCRIPTS: Readonly<Record<string, string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };

const HOW = `
In ~/.bashrc:
  source <(pbnj-worker completion bash)
In ~/.zshrc, after compinit:
  source <(pbnj-worker completion zsh)
In ~/.config/fish/config.fish:
  pbnj-worker completion fish | source`;

/** `pbnj-worker completion`. */
export function defineCompletion(command: Command): void {
  const shells = Object.keys(SCRIPTS);
  const argument = new Argument("[shell]", "your shell");
  // Checked here, because commander's message would differ from all other messages.
  argument.argChoices = [...shells];
  command
    .addArgument(argument)
    .usage("<shell>")
    .addHelpText("after", HOW)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => {
      const { operands, problems } = readWords(command, { most: shells.length });
      const [shell] = operands;
      const script = shell !== undefined && Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (problems.length > 0) endWithUsage("pbnj-worker completion", problems);
      if (script === undefined || operands.length > 1) {
        endWithUsage("pbnj-worker completion", [problemWith(operands, shells)]);
      }
      const { writeText } = await import("../actions/harness/result/write-text.ts");
      await writeText(process.stdout, script);
      process.exit(EXIT_OK);
    });
}

function problemWith(args: readonly string[], shells: readonly string[]): string {
  const [shell] = args;
  if (shell === undefined || args.length > 1) return `name one shell: ${shells.join(", ")}`;
  return `${JSON.stringify(shell)} is not one of ${shells.join(", ")}${suggestion(shell, shells)}`;
}
