import { cpus, totalmem } from "node:os";
import { comparisonTable } from "../../scripts/performance/comparison-table.ts";
import {
  cell,
  digits,
  type Report,
  type ReportSection,
  type Scenario,
} from "../../scripts/performance/peer-report.ts";

/** What the figures depend on; no name of this machine. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() || "unknown processor";
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${cpus().length} cores, ${gibibytes} GiB, ${process.platform}, Node ${process.version}`;
}

/** The section of this run in place of the one of an earlier run. */
export function merged(earlier: Report, section: ReportSection): Report {
  const kept = earlier.sections.filter(({ name }) => name !== section.name);
  return { sections: [...kept, section].toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name)) };
}

/** What the tables show of each run. */
const SHOWN = ["wallMs", "perActionMs", "requests", "apiRequests"] as const;
const ORDER = ["operations", "loss", "far", "fallbacks", "start", "ironic", "engine", "rufio"];

/** One line per scenario, so that two runs can be compared; figures have four digits. */
export function jsonReport({ sections }: Report): string {
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  const text = sections.map(({ scenarios, ...section }) => {
    const head = JSON.stringify(section).slice(0, -1);
    return `${head},"scenarios":[\n${scenarios.map((each) => JSON.stringify(each, rounded)).join(",\n")}\n]}`;
  });
  return `{"sections":[\n${text.join(",\n")}\n]}\n`;
}

export function markdownReport({ sections }: Report): string {
  const parts = sections.map((section) => {
    const versions = Object.entries(section.versions).map(([name, version]) => `${name} ${version}`);
    const groups = Map.groupBy(section.scenarios, ({ title }) => partsOf(title).condition);
    return [
      `## ${section.title}`,
      `${section.date.slice(0, 10)}; ${section.machine}; ${versions.join(", ")}.`,
      ...[...groups].map(([condition, scenarios]) => conditionTable(condition, scenarios)),
    ].join("\n\n");
  });
  return `# Side by side

Written by \`npm run bench:peers\`; [the method](../../docs/explanation/performance.md). Each figure is the median wall time of the runs (for an
engine, per action), with the least and the most in brackets, then the requests to the BMC and to the Kubernetes API, if there are any.
[peers.json](peers.json) has CPU, memory, connections, packets and bytes, and the reason of each "failed" and "–".

${parts.join("\n\n")}
`;
}

/** `power state, first: Redfish simulator, 20 ms` is an operation under a condition; other titles have none. */
function partsOf(title: string): { readonly label: string; readonly condition: string } {
  const [, label = title, condition = ""] = /^(.+), ((?:first|repeated): .+)$/.exec(title) ?? [];
  return { label, condition };
}

function conditionTable(condition: string, scenarios: readonly Scenario[]): string {
  const rows = scenarios.flatMap((scenario) => scenario.rows);
  const found = SHOWN.filter((metric) => rows.some(({ figures }) => figures[metric] !== undefined));
  const metrics = found.includes("perActionMs") ? (["perActionMs"] as const) : found;
  const labelOf = (title: string) => partsOf(title).label;
  return comparisonTable(scenarios, { head: condition, metrics, cellOf: cell, labelOf });
}

const BAR = { height: 16, gap: 4, left: 190, width: 420, right: 90 };
const OURS = /pbnj-worker/;

/** Wall times as bars; each scenario has its own scale. */
export function svgReport({ sections }: Report): string {
  const parts: string[] = [];
  let y = 8;
  const text = (x: number, content: string, more = "") =>
    `<text x="${x}" y="${y + 12}"${more}>${escapeXml(content)}</text>`;
  for (const { title, rows, charted } of sections.flatMap(({ scenarios }) => scenarios)) {
    const bars = rows.flatMap(({ subject, figures }) =>
      figures.wallMs ? [{ subject, of: figures.wallMs }] : [],
    );
    if (bars.length === 0 || !charted) continue;
    parts.push(text(8, title, ' font-weight="bold"'));
    y += BAR.height + BAR.gap;
    const longest = Math.max(...bars.map(({ of }) => of.median));
    for (const { subject, of } of bars) {
      const width = Math.max(1, (BAR.width * of.median) / longest);
      const fill = OURS.test(subject) ? "#2f6fde" : "#9aa5b1";
      parts.push(
        text(BAR.left - 8, subject, ' text-anchor="end"'),
        `<rect x="${BAR.left}" y="${y}" width="${width.toFixed(1)}" height="${BAR.height}" fill="${fill}"/>`,
        text(BAR.left + width + 6, `${digits(of.median)} ms`),
      );
      y += BAR.height + BAR.gap;
    }
    y += BAR.height;
  }
  const width = BAR.left + BAR.width + BAR.right;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" font-family="sans-serif" font-size="12">
<title>Wall time, medians</title>
<rect width="${width}" height="${y}" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
