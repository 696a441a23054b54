import { Command, InvalidArgumentError } from "commander";

/** The command line of a tool for developers, with `--help`. Ends with exit code 2 and one line at flags that it does not understand. */
export function tool(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
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
