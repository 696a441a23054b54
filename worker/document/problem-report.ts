import { formatProblem, type Problem } from "../../shared/document/problem.ts";
import { printableLine, printableLines } from "../../shared/printable.ts";

/** Lists all problems for the terminal. Further lines of a problem are indented, so that none looks like another problem. */
export function problemReport(command: string, problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const items = problems.map((problem) => `  - ${itemText(problem)}`);
  return `${command}: ${count}, nothing was started:\n${items.join("\n")}\n`;
}

function itemText(problem: Problem): string {
  const text = printableLine(formatProblem(problem));
  if (problem.fix === undefined) return text;
  return `${text}. ${printableLines(problem.fix).replace(/\n(?!\n)/g, "\n    ")}`;
}
