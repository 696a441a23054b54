import { count } from "../../shared/count.ts";
import { printableLine as printable } from "../../shared/printable.ts";
import { CHECK_NAMES } from "../findings/causes.ts";
import { FINDING_STATES, type Finding, type FindingState } from "../findings/finding.ts";
import type { DoctorReport } from "./report.ts";

/** `coloured` adds symbols and colours for terminals. */
export type LineStyle = "plain" | "coloured";

/** Selects the style. Follows `NO_COLOR` (no-color.org), which counts only if it is not empty. */
export function lineStyleFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): LineStyle {
  return stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb" ? "coloured" : "plain";
}

const WIDEST_STATE = Math.max(...FINDING_STATES.map(({ length }) => length));
const WIDEST_CHECK = Math.max(...CHECK_NAMES.map(({ length }) => length));
const FIX = "fix: ";

const MARKS: Readonly<Record<FindingState, string>> = { problem: "✗", warning: "!", skipped: "-", ok: "✓" };
/** SGR codes: red, yellow, grey, green. */
const COLOURS: Readonly<Record<FindingState, number>> = { problem: 31, warning: 33, skipped: 90, ok: 32 };

/** One line for the finding and, if there is a remedy, another one for the fix. */
export function renderFinding({ check, state, subject, detail, remedy }: Finding, style: LineStyle): string {
  const isPlain = style === "plain";
  const padded = state.padEnd(WIDEST_STATE);
  const head = isPlain ? padded : `\u001b[${COLOURS[state]}m${MARKS[state]} ${padded}\u001b[0m`;
  const about = subject === undefined ? "" : `${printable(subject)}: `;
  const line = `${head}  ${check.padEnd(WIDEST_CHECK)}  ${about}${printable(detail)}\n`;
  if (remedy === undefined) return line;
  const indent = " ".repeat(WIDEST_STATE + WIDEST_CHECK + (isPlain ? 4 : 6));
  return `${line}${indent}${FIX}${printable(remedy)}\n`;
}

/** The last line: `1 problem, 2 warnings, 6 ok, 1 skipped`. */
export function renderCounts({ problem, warning, skipped, ok }: DoctorReport["counts"]): string {
  const parts = [
    problem === 0 ? "no problem" : count(problem, "problem", "problems"),
    ...(warning === 0 ? [] : [count(warning, "warning", "warnings")]),
    `${ok} ok`,
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
  ];
  return `${parts.join(", ")}\n`;
}
