import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { formatTable } from "../shared/table.ts";
import { startLab, templateOf } from "./fleet/lab.ts";
import { percentile } from "./fleet/percentile.ts";
import { figuresOf } from "./fleet/process-figures.ts";
import type { ActionTimes } from "./fleet/tink-host.ts";
import { type SocketTimes, WRITTEN_EVERY_MS } from "./wake/written-times.ts";

/**
 * `npm run bench:wake`. The tink server with its cluster and the BMCs are processes of their own. The worker's own share is taken at
 * its sockets: a server with one thread counts its own queue as well. Figures are for comparing, not for passing.
 */
const values = tool(
  "bench:wake",
  "Measures how soon paused lanes start workflows that become ready at once, and where the time goes. With TINK_SERVER (an address, no TLS) and KUBECONFIG it uses a real server and cluster, through a proxy that records the times.",
)
  .option("--workflows <count>", "number of workflows", count, 1_000)
  .option("--runs <count>", "number of runs", count, 3)
  .option("--runtime <name>", "the worker's runtime", "in-process")
  .option("--finished <count>", "finished workflows per agent ID, for a real server", wholeNumber, 0)
  .option("--latency <ms>", "response time of a BMC", wholeNumber, 200)
  .option("--node-option <option...>", "option for the worker's Node", [])
  .parse()
  .opts<{
    workflows: number;
    runs: number;
    runtime: string;
    finished: number;
    latency: number;
    nodeOption: string[];
  }>();
const isReal = process.env["TINK_SERVER"] !== undefined && process.env["KUBECONFIG"] !== undefined;
const { workflows } = values;
const TARGET_MS = 1_000;
/** A lane polls once more after it started, and after an action, before it rests. */
const SETTLE_MS = 5_000;
const SAMPLE_EVERY_MS = 20;
const WITHIN_MS = 300_000;

const template = templateOf([{ name: "power-status" }], 120);

const times = await mkdtemp(join(tmpdir(), "pbnj-worker-wake-"));
const timesFile = join(times, "times.json");
const probe = new URL("wake/socket-times.ts", import.meta.url);
probe.searchParams.set("file", timesFile);

await using stack = new AsyncDisposableStack();
stack.defer(() => rm(times, { recursive: true, force: true }));
const lab = await startLab({
  machines: workflows,
  latencyMs: values.latency,
  transitionMs: 100,
  workerArgv: ["--runtime", values.runtime, "--log-level", "warn"],
  nodeArgv: [...values.nodeOption, `--import=${probe.href}`],
  wakesUp: true,
  ...(isReal && {
    host: {
      program: fileURLToPath(new URL("wake/real-tink-host.ts", import.meta.url)),
      argv: [String(values.finished)],
    },
  }),
});
stack.use(lab);
const shares = [0.5, 0.9, 0.99] as const;
const rows: string[][] = [];
for (let run = 1; run <= values.runs; run += 1) {
  await sleep(SETTLE_MS);
  const pollsBefore = (await lab.load()).polls;
  const sampling = new AbortController();
  const samples = sampleCpu(lab.workerPid, sampling.signal);
  const { startedAt, actions } = await lab.run({
    name: `wake-${run}`,
    template,
    machines: Array.from({ length: workflows }, (_, index) => index),
    withinMs: WITHIN_MS,
  });
  sampling.abort();
  // The worker writes its times each second.
  await sleep(2 * WRITTEN_EVERY_MS);
  const { answered, reported } = JSON.parse(await readFile(timesFile, "utf8")) as SocketTimes;
  const own = Object.entries(reported).flatMap(([name, ms]) => {
    const readMs = name.startsWith(`wake-${run}-`) ? answered[name] : undefined;
    return readMs === undefined ? [] : [ms - readMs];
  });
  const row = (name: string, all: readonly number[], aim = "") =>
    rows.push([name, ...shares.map((share) => `${percentile(all, share).toFixed(0)} ms`), aim]);
  const stage = (name: string, ms: (of: ActionTimes) => number) => row(name, actions.map(ms));
  const late = Number.POSITIVE_INFINITY;
  const askedMs = ({ readyMs, askedMs = late }: ActionTimes) => Math.max(readyMs, askedMs);
  rows.push([`run ${run}`, "", "", "", ""]);
  if (isReal) stage("controller: created to rendered", (of) => of.readyMs - (of.createdMs ?? late));
  stage("worker: rendered to the poll that is answered", (of) => askedMs(of) - of.readyMs);
  stage("server: poll to its answer", (of) => (of.servedMs ?? late) - askedMs(of));
  row("worker: answer read to RUNNING report written", own, `99 % below ${TARGET_MS} ms`);
  stage("both: answer to RUNNING report", ({ servedMs = late, runningMs = late }) => runningMs - servedMs);
  if (isReal)
    stage("server: report to its answer", (of) => (of.acknowledgedMs ?? late) - (of.runningMs ?? 0));
  stage("all: rendered to RUNNING report", ({ readyMs, runningMs = late }) => runningMs - readyMs);
  stage("machine: RUNNING report to the end", ({ runningMs = late, endedMs = late }) => endedMs - runningMs);
  const last = Math.max(...actions.map(({ endedMs = late }) => endedMs));
  rows.push(["all are over after", `${(last / 1_000).toFixed(1)} s`, "", "", ""]);
  const polls = ((await lab.load()).polls - pollsBefore) / workflows;
  rows.push(["polls of a workflow", polls.toFixed(2), "", "", ""]);
  const cpuMs = cpuBetween(await samples, startedAt, [
    Math.min(...actions.map(({ readyMs }) => readyMs)),
    Math.max(...actions.map(({ runningMs = late }) => runningMs)),
    Math.max(...actions.map(({ endedMs = late }) => endedMs)),
  ]);
  rows.push(["processor time of the worker to the last RUNNING", `${cpuMs[0]?.toFixed(0)} ms`, "", "", ""]);
  rows.push(["and from there to the last end", `${cpuMs[1]?.toFixed(0)} ms`, "", "", ""]);
  const failed = actions.filter(({ state }) => state !== "SUCCESS");
  if (failed.length > 0) {
    process.stdout.write(`${failed.length} actions failed, such as: ${failed[0]?.message}\n`);
    process.exitCode = 1;
  }
}
const head = [
  `${workflows} workflows at once, ${values.runtime}${isReal ? ", real server" : ""}`,
  "50 %",
  "90 %",
  "99 %",
  "target",
];
process.stdout.write(`${formatTable(head, rows, [1, 2, 3])}\n`);

interface CpuSample {
  readonly at: number;
  readonly cpuMs: number;
}

async function sampleCpu(pid: number, signal: AbortSignal): Promise<readonly CpuSample[]> {
  const samples: CpuSample[] = [];
  for (;;) {
    const figures = await figuresOf(pid);
    if (figures) samples.push({ at: performance.timeOrigin + performance.now(), cpuMs: figures.cpuMs });
    if (signal.aborted) return samples;
    await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The processor time between each of these times and the one before it; they are milliseconds after `startedAt`. */
function cpuBetween(
  samples: readonly CpuSample[],
  startedAt: number,
  timesMs: readonly number[],
): readonly number[] {
  const at = timesMs.map(
    (ms) => (samples.findLast((each) => each.at <= startedAt + ms) ?? samples[0])?.cpuMs,
  );
  return at.slice(1).map((cpuMs, index) => (cpuMs ?? Number.NaN) - (at[index] ?? Number.NaN));
}
