import { setTimeout as sleep } from "node:timers/promises";
import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { formatTable } from "../shared/table.ts";
import { startLab, templateOf } from "./fleet/lab.ts";
import { percentile } from "./fleet/percentile.ts";
import { figuresOf } from "./fleet/process-figures.ts";

/**
 * `npm run bench:idle`. The tink server and the BMCs are processes of their own; the server holds each poll for a minute. Figures are for
 * comparing, not for passing.
 */
const values = tool(
  "bench:idle",
  "Measures memory and CPU of an idle worker with many lanes, and how soon it starts actions.",
)
  .option("--lanes <count>", "number of lanes, one per agent ID", count, 1_000)
  .option("--seconds <count>", "how long the worker is idle", count, 90)
  .option("--actions <count>", "actions after that", count, 200)
  .option("--runtime <name>", "the worker's runtime", "process")
  .option("--outage <seconds>", "stop the tink server for so long, before the actions", wholeNumber, 0)
  .option("--wake-up", "pause each lane until the cluster has a Workflow for it", false)
  .option("--node-option <option...>", "option for the worker's Node", [])
  .parse()
  .opts<{
    lanes: number;
    seconds: number;
    actions: number;
    runtime: string;
    outage: number;
    wakeUp: boolean;
    nodeOption: string[];
  }>();
const { lanes, seconds } = values;
const actionCount = Math.min(values.actions, lanes);
/** Actions come apart, as those of different people do: the time to begin is measured, not the time to do. */
const APART_MS = 150;
/** What starting up costs is not what idling costs. */
const SETTLE_MS = 5_000;
const COUNT_EVERY_MS = 100;
const MOST_BURST = 10;
const TARGET = {
  ...(lanes > 1_000 ? { residentMb: 400, corePercent: 1 } : { residentMb: 150, corePercent: 2 }),
  pickUpMs: values.wakeUp ? 300 : 1_500,
};

const template = templateOf([{ name: "power-status" }], 120);

await using lab = await startLab({
  machines: lanes,
  latencyMs: 20,
  transitionMs: 100,
  workerArgv: ["--runtime", values.runtime, "--log-level", "warn"],
  nodeArgv: values.nodeOption,
  wakesUp: values.wakeUp,
});
await sleep(SETTLE_MS);
const before = await figuresOf(lab.workerPid);
const { polls: beforePolls } = await lab.load();
const beforeMs = performance.now();
await sleep(seconds * 1_000);
const after = await figuresOf(lab.workerPid);
const tookMs = performance.now() - beforeMs;
const { polls: afterPolls, connections } = await lab.load();
const pollsPerSecond = (afterPolls - beforePolls) / (tookMs / 1_000);
const burst = values.outage === 0 ? undefined : await burstAfter(values.outage * 1_000);

const chosen = shuffled(Array.from({ length: lanes }, (_, index) => index)).slice(0, actionCount);
const { actions: times } = await lab.run({
  name: "pick-up",
  template,
  machines: chosen,
  everyMs: APART_MS,
  withinMs: actionCount * APART_MS + 120_000,
});
const waits = times.map(({ readyMs, runningMs }) => (runningMs ?? Number.POSITIVE_INFINITY) - readyMs);
const busy = await figuresOf(lab.workerPid);

const rows: (readonly [string, string, string])[] = [];
if (before && after && busy) {
  const mb = (bytes: number) => (bytes / 1_048_576).toFixed(0);
  const percent = (100 * (after.cpuMs - before.cpuMs)) / tookMs;
  rows.push(
    ["resident, idle", `${mb(after.residentBytes)} MiB`, `below ${TARGET.residentMb}`],
    ["processor, idle", `${percent.toFixed(2)} % of a core`, `below ${TARGET.corePercent}`],
    ["resident, after the actions", `${mb(busy.residentBytes)} MiB, ${mb(busy.peakBytes)} at most`, ""],
  );
} else rows.push(["memory and processor", "only on Linux", ""]);
rows.push(
  ["polls, idle", `${(60 * pollsPerSecond).toFixed(0)} per minute`, ""],
  ["polls of a lane, idle", `${((3_600 * pollsPerSecond) / lanes).toFixed(1)} per hour`, ""],
  ["connections to the server", String(connections), ""],
);
if (burst !== undefined) {
  rows.push([
    "polls in the busiest second after the outage",
    `${burst}: ${(burst / pollsPerSecond).toFixed(1)} times the mean`,
    `at most ${MOST_BURST}`,
  ]);
}
for (const share of [0.5, 0.95, 0.99]) {
  const target = share === 0.99 ? `below ${TARGET.pickUpMs}` : "";
  rows.push([`pick-up, ${100 * share} % within`, `${percentile(waits, share).toFixed(0)} ms`, target]);
}
const head = [
  `${lanes} lanes, ${seconds} s, ${times.length} actions ${APART_MS} ms apart`,
  "figure",
  "target",
];
process.stdout.write(`${formatTable(head, rows, [1])}\n`);
const failed = times.filter(({ state }) => state !== "SUCCESS");
if (failed.length > 0) {
  process.stdout.write(`${failed.length} actions failed, such as: ${failed[0]?.message}\n`);
  process.exitCode = 1;
}

/** The most polls of one second while the lanes come back, and for as long as they were idle before. */
async function burstAfter(outageMs: number): Promise<number> {
  await lab.outage(outageMs);
  const counted: { readonly atMs: number; readonly polls: number }[] = [];
  const endMs = performance.now() + seconds * 1_000;
  while (performance.now() < endMs) {
    counted.push({ atMs: performance.now(), polls: (await lab.load()).polls });
    await sleep(COUNT_EVERY_MS);
  }
  const within = counted.map(({ atMs, polls }) => {
    const aSecondAgo = counted.findLast((earlier) => earlier.atMs <= atMs - 1_000);
    return polls - (aSecondAgo ?? { polls }).polls;
  });
  return Math.max(...within);
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, key: Math.random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
