import { RE2JS } from "re2js";
import type { LinePattern } from "../../shared/bmc/operations/console.ts";
import { textOf } from "../../shared/text-of.ts";

/** A regular expression whose time is linear in the line: lines come from the machine, patterns from templates. Throws. */
export function linePattern(source: string): LinePattern {
  const expression = RE2JS.compile(source);
  return { source, test: (line) => expression.matcher(line).find() };
}

/** Why it is no pattern; undefined if it is one. */
export function patternProblem(source: string): string | undefined {
  try {
    linePattern(source);
    return undefined;
  } catch (thrown) {
    return textOf(thrown);
  }
}
