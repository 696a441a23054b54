import { readFile } from "node:fs/promises";
import { markdownTable } from "./markdown-table.ts";
import { refreshBetweenMarks } from "./marked-part.ts";
import { comparisonTable } from "./performance/comparison-table.ts";
import { OPERATIONS, type Operation, operationNames } from "./performance/operations.ts";
import { type Metric, medianCell, NO_FIGURE, Report, type Scenario } from "./performance/peer-report.ts";

const RESULTS = new URL("../bench/results/peers.json", import.meta.url);
const START = "<!-- generated from bench/results/peers.json: npm run docs -->";
/** Latency of a BMC in another building. */
const NEAR = "20 ms";

/** The page with the figures of the last `npm run bench:peers`. */
export async function refreshPerformancePage(current: string): Promise<string> {
  const report = await readResults();
  const operations = ["Redfish simulator", "IPMI simulator"].map((server) => {
    const titles = operationNames.map((name) => titleOf(name, server));
    const scenarios = scenariosOf(report, "operations").filter(({ title }) => titles.includes(title));
    return comparisonTable(scenarios, {
      head: server,
      metrics: ["wallMs", "requests"],
      cellOf: medianCell,
      labelOf: (title) => title.slice(0, title.indexOf(", first")),
    });
  });
  const section = (name: string, head: string, metrics: readonly Metric[]) =>
    comparisonTable(scenariosOf(report, name), { head, metrics, cellOf: medianCell });
  const part = [
    measuredWhere(report),
    `Operations of a new process at a round trip of ${NEAR}: wall time, then HTTP requests, or round trips for IPMI.`,
    ...operations,
    section("fallbacks", "the preferred protocol fails: time to the end", ["wallMs"]),
    section("engine", "per action: wall time; of all: CPU, peak memory", [
      "perActionMs",
      "cpuMs",
      "peakBytes",
    ]),
    section("rufio", "Rufio Jobs: wall time, API requests, BMC requests", [
      "wallMs",
      "apiRequests",
      "requests",
    ]),
  ];
  return refreshBetweenMarks(current, START, part.join("\n\n"));
}

/** The README with a few of the figures. */
export async function refreshReadmeFigures(current: string): Promise<string> {
  const report = await readResults();
  const columns = [
    ...["pbnj-worker", "sushy", "bmclib"].map((subject) => ["Redfish", subject] as const),
    ...["pbnj-worker", "ipmitool", "go-ipmi", "bmclib"].map((subject) => ["IPMI", subject] as const),
  ];
  const rows = (["state", "pxe-once", "off", "inventory"] as const).map((name) => [
    OPERATIONS[name].title,
    ...columns.map(([protocol, subject]) => {
      const title = titleOf(name, `${protocol} simulator`);
      const scenario = scenariosOf(report, "operations").find((each) => each.title === title);
      const row = scenario?.rows.find((each) => each.subject === subject);
      if (row?.note?.startsWith("failed")) return "failed";
      return row?.figures.wallMs ? medianCell("wallMs", row.figures.wallMs) : NO_FIGURE;
    }),
  ]);
  const head = columns.map(([protocol, subject]) => `${protocol}: ${subject}`);
  return refreshBetweenMarks(current, START, markdownTable(["", ...head], rows));
}

async function readResults(): Promise<Report> {
  return Report.parse(JSON.parse(await readFile(RESULTS, "utf8")));
}

function titleOf(name: Operation, server: string): string {
  return `${OPERATIONS[name].title}, first: ${server}, ${NEAR}`;
}

function scenariosOf({ sections }: Report, name: string): readonly Scenario[] {
  return sections.find((section) => section.name === name)?.scenarios ?? [];
}

function measuredWhere({ sections }: Report): string {
  const all = (texts: readonly string[]) => [...new Set(texts)].toSorted();
  const days = all(sections.map(({ date }) => date.slice(0, 10))).join(" and ");
  const machines = all(sections.map(({ machine }) => machine)).join(" and ");
  const found = sections.flatMap(({ versions }) => Object.entries(versions));
  const versions = new Map<string, string[]>();
  for (const [name, version] of found)
    if (version !== "missing") versions.set(name, [...(versions.get(name) ?? []), version]);
  const named = [...versions].map(([name, each]) => `${name} ${all(each).join(" and ")}`);
  return `${days}; ${machines}; ${named.join(", ")}.`;
}
