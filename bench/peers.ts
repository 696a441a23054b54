import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cell, Report, type ReportSection } from "../scripts/performance/peer-report.ts";
import { count, tool } from "../scripts/tool.ts";
import { engine } from "./peers/engine.ts";
import { fallbacks } from "./peers/fallbacks.ts";
import { oneLine } from "./peers/figures.ts";
import { ironic } from "./peers/ironic.ts";
import { far, lossy, operations } from "./peers/operations.ts";
import type { Peer } from "./peers/peer.ts";
import { parsePeers, peers, withGiven } from "./peers/peers.ts";
import { describeMachine, jsonReport, markdownReport, merged, svgReport } from "./peers/report.ts";
import { rufio } from "./peers/rufio.ts";
import type { InstalledPeer, Section } from "./peers/section.ts";
import { start } from "./peers/start.ts";

/**
 * `npm run bench:peers`: the same work done by this project and by others, in paired runs that take turns. bench/peers/README.md
 * has the convention for `--peer`. Writes Markdown, JSON and a picture to bench/results. Figures are for comparing, not for passing.
 */
const SECTIONS: readonly Section[] = [operations, lossy, far, fallbacks, start, ironic, engine, rufio];

const all = SECTIONS.map(({ name }) => name);
const command = tool(
  "bench:peers",
  "Compares this project with others that do the same work, in alternating runs.",
)
  .option("--section <name...>", `only these: ${all.join(", ")}`)
  .option("--peer <name=program...>", "program of a peer that is in no package registry", [])
  .option("--quick", "fewer runs, without the sections loss and far", false)
  .option("--workflows <count>", "workflows of the section engine", count, 200)
  .option("--minutes <count>", "start no run after this time", count, 90)
  .option("--output <folder>", "output folder", join(import.meta.dirname, "results"))
  .parse();
const values = command.opts<{
  section?: string[];
  peer: string[];
  quick: boolean;
  workflows: number;
  minutes: number;
  output: string;
}>();
const wanted = values.section ?? all.filter((name) => !values.quick || (name !== "loss" && name !== "far"));
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0)
  command.error(`error: unknown section: ${unknown.join(", ")}; sections: ${all.join(", ")}`);
const table = withGiven(peers, parsePeers(values.peer));
const deadline = AbortSignal.timeout(values.minutes * 60_000);

const folder = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-"));
try {
  const installed = await Promise.all(table.map((peer) => install(peer)));
  for (const section of SECTIONS.filter(({ name }) => wanted.includes(name))) {
    await runSection(section, installed);
  }
  process.stdout.write("written: peers.md, peers.json and peers.svg\n");
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function install(peer: Peer): Promise<InstalledPeer> {
  try {
    const own = join(folder, peer.name.replace(/\W/g, "-"));
    await mkdir(own);
    return { ...peer, installed: await peer.install(own) };
  } catch (thrown) {
    return { ...peer, missing: oneLine(thrown) };
  }
}

async function runSection(section: Section, installed: readonly InstalledPeer[]): Promise<void> {
  const { name, title, charted } = section;
  const versions = installed.map((peer) => [peer.name, peer.installed?.version ?? "missing"] as const);
  const result: ReportSection = {
    name,
    title,
    scenarios: [],
    date: new Date().toISOString(),
    machine: describeMachine(),
    versions: Object.fromEntries(versions),
  };
  process.stdout.write(`${title}\n`);
  await section.run({
    peers: installed,
    quick: values.quick,
    deadline,
    folder,
    workflows: values.workflows,
    async add(scenario, rows) {
      result.scenarios.push({
        title: scenario,
        charted: charted.test(scenario),
        rows: rows.map((row) => ({ ...row })),
      });
      await write(result);
      process.stdout.write(`  ${scenario}\n`);
      for (const { subject, figures, note = "" } of rows) {
        process.stdout.write(`    ${subject}: ${cell("wallMs", figures.wallMs)} ${note}\n`);
      }
    },
  });
}

/** What was measured so far. Sections that were not asked for stay as an earlier run left them. */
async function write(section: ReportSection): Promise<void> {
  await mkdir(values.output, { recursive: true });
  const file = (extension: string) => join(values.output, `peers.${extension}`);
  const text = await readFile(file("json"), "utf8").catch(() => '{"sections":[]}');
  const report = merged(Report.parse(JSON.parse(text)), section);
  await writeFile(file("json"), jsonReport(report));
  await writeFile(file("md"), markdownReport(report));
  await writeFile(file("svg"), svgReport(report));
}
