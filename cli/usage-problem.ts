import { exitCodeOf } from "../shared/contract/exit-code.ts";
import { printableLine } from "../shared/printable.ts";

/** Says what is wrong with a command line, a line a problem, and ends the process. */
export function endWithUsage(command: string, problems: readonly string[]): never {
  const lines = problems.map((problem) => `${printableLine(`${command}: ${problem}`)}\n`).join("");
  process.stderr.write(`${lines}See ${command} --help.\n`);
  process.exit(exitCodeOf("usage"));
}
