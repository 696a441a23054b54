import { exitCodeOf } from "../shared/contract/exit-code.ts";
import { programLine } from "../shared/printable.ts";

/** Prints the problems of a command line, one per line, and ends the process. */
export function endWithUsage(command: string, problems: readonly string[]): never {
  const lines = problems.map((problem) => programLine(command, problem)).join("");
  process.stderr.write(`${lines}See ${command} --help.\n`);
  process.exit(exitCodeOf("usage"));
}
