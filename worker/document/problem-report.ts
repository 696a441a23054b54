import { formatProblem, type Problem } from "../../shared/document/problem.ts";
import { printableLine, printableLines } from "../../shared/printable.ts";

/** Every problem as an item of a list, for the terminal. Further lines of an item are indented: none can pass as an item. */
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
