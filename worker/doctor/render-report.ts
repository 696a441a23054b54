import { count } from "../../shared/count.ts";
import { printableLine as printable } from "../../shared/printable.ts";
import { outputWidth, tableRows } from "../../shared/table.ts";
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
export function renderFinding(
  { check, state, subject, detail, remedy }: Finding,
  style: LineStyle,
  width = outputWidth(),
): string {
  const isPlain = style === "plain";
  const marked = isPlain ? state : `${MARKS[state]} ${state}`;
  const widths = [WIDEST_STATE + marked.length - state.length, WIDEST_CHECK, Number.POSITIVE_INFINITY];
  const { row } = tableRows({ widths, width });
  const about = subject === undefined ? "" : `${printable(subject)}: `;
  const line = row([marked, check, `${about}${printable(detail)}`]);
  const fix = remedy === undefined ? "" : `${row(["", "", `${FIX}${printable(remedy)}`])}\n`;
  const coloured = isPlain ? marked : `\u001b[${COLOURS[state]}m${marked}\u001b[0m`;
  return `${coloured}${line.slice(marked.length)}\n${fix}`;
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
