import { Command, InvalidArgumentError } from "commander";
import { exitCodeOf } from "../shared/contract/exit-code.ts";
import { openProgressLines, type ProgressLines } from "../shared/progress-lines.ts";

/** The command line of a tool for developers, with `--help`. Ends with exit code 2 and one line at flags that it does not understand. */
export function tool(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** Ctrl-C also ends the tool's children, whose end may be noticed first. */
const SIGNAL_MS = 200;

/** What a tool does now, on stderr. Ctrl-C removes it from the terminal. */
export function toolProgress(): ProgressLines {
  const lines = openProgressLines(process.stderr);
  process.once("SIGINT", () => process.exit(exitCodeOf("cancelled", "SIGINT")));
  process.once("uncaughtException", (thrown) => {
    setTimeout(() => {
      lines.clear();
      process.stderr.write(`${thrown.stack ?? thrown.message}\n`);
      process.exit(1);
    }, SIGNAL_MS);
  });
  return lines;
}

/** Parses an option's value. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  return Number(text);
}

/** Parses an option's value, at least 1. */
export function count(text: string): number {
  if (wholeNumber(text) === 0) throw new InvalidArgumentError("It must be above 0.");
  return Number(text);
}
