import { exitCodeOf } from "../shared/contract/exit-code.ts";

/** Says what is wrong with a command line, a line a problem, and ends the process. */
export function endWithUsage(command: string, problems: readonly string[]): never {
  const lines = problems.map((problem) => `${command}: ${problem}\n`).join("");
  process.stderr.write(`${lines}See ${command} --help.\n`);
  process.exit(exitCodeOf("usage"));
}
