import { markdownTable } from "../markdown-table.ts";
import { type Metric, NO_FIGURE, type Scenario, type Spread } from "./peer-report.ts";

type Row = Scenario["rows"][number];
interface Comparison {
  /** What the first column says above the scenarios. */
  readonly head: string;
  readonly metrics: readonly Metric[];
  readonly cellOf: (metric: Metric, spread: Spread | undefined) => string;
  readonly labelOf?: (title: string) => string;
}

/** One row per scenario, one column per program that has a figure in one of them. */
export function comparisonTable(
  scenarios: readonly Scenario[],
  { head, metrics, cellOf, labelOf = (title) => title }: Comparison,
): string {
  const hasFigure = ({ figures }: Row) => metrics.some((metric) => figures[metric] !== undefined);
  const measured = scenarios.flatMap(({ rows }) => rows.filter(hasFigure));
  const subjects = [...new Set(measured.map(({ subject }) => subject))];
  const textOf = (row: Row | undefined): string => {
    if (row?.note?.startsWith("failed")) return "failed";
    if (!row || !hasFigure(row)) return NO_FIGURE;
    return metrics.map((metric) => cellOf(metric, row.figures[metric])).join(", ");
  };
  const lines = scenarios.map(({ title, rows }) => [
    labelOf(title),
    ...subjects.map((name) => textOf(rows.find(({ subject }) => subject === name))),
  ]);
  return markdownTable([head, ...subjects], lines);
}
