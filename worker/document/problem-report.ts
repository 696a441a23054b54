import { formatProblem, type Problem } from "../../shared/document/problem.ts";
import { printableLine } from "../../shared/printable.ts";

/** Every problem, a line each, for the terminal of whoever called `command`. */
export function problemReport(command: string, problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const lines = problems.map((problem) => `  - ${printableLine(formatProblem(problem))}`).join("\n");
  return `${command}: ${count}, nothing was started:\n${lines}\n`;
}
