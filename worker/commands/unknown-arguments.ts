import type { Command } from "commander";
import type { Problem } from "../../shared/document/problem.ts";
import { unknownArgumentProblems } from "../../shared/unknown-arguments.ts";

/** The arguments that `command` did not parse, as problems. */
export function unknownArguments(command: Command, left: readonly string[]): readonly Problem[] {
  const known = command.options.flatMap(({ long }) => long ?? []);
  return unknownArgumentProblems(left, known).map((message) => ({ source: "command line", message }));
}
