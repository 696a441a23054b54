import { writeFile } from "node:fs/promises";
import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { formatTable } from "../shared/table.ts";
import { type Chart, growthSvg, linearFit, type Point } from "./fleet/growth.ts";
import { type FleetFigures, measureFleet, type Spread } from "./fleet/measure.ts";

/** `npm run bench:fleet`. Figures are for comparing, not for passing. */
const values = tool(
  "bench:fleet",
  "Powers machines off, sets PXE once and powers them on, with one workflow per machine, all submitted at once. Compares the total time with the ideal schedule. The runtime bare is a program that sends the requests that the work needs and does nothing else. The runtime kubernetes needs etcd, kube-apiserver, kube-controller-manager and kwok, which simulates each pod for one request and one transition.",
)
  .option("--machines <counts>", "numbers of machines, separated by commas", counts, [1_000])
  .option("--runtime <names>", "runtimes, separated by commas", "in-process,process")
  .option("--max-actions <count>", "concurrent actions (default: depends on the runtime)", count)
  .option("--latency <ms>", "response time of a BMC", wholeNumber, 200)
  .option("--transition <ms>", "time that a machine takes to change its power state", wholeNumber, 2_000)
  .option("--tls", "BMCs speak TLS", false)
  .option("--wake-up", "pause each lane until the cluster has a Workflow for it", false)
  .option("--plot <file>", "picture of the growth over several numbers of machines, of the last runtime")
  .option("--node-option <option...>", "option for the worker's Node", [])
  .parse()
  .opts<{
    machines: readonly number[];
    runtime: string;
    maxActions?: number;
    latency: number;
    transition: number;
    tls: boolean;
    wakeUp: boolean;
    plot?: string;
    nodeOption: string[];
  }>();
/** Without `--max-actions`; the worker allows more where actions are no processes of this machine. */
const MAX_ACTIONS: Readonly<Record<string, number>> = {
  bare: 128,
  "in-process": 128,
  process: 16,
  kubernetes: 64,
};
const TARGET_RATIO = 1.05;
const GROWING: readonly (readonly [
  title: string,
  unit: string,
  figure: (figures: FleetFigures) => number,
])[] = [
  ["processor time", "s", ({ cpuMs }) => cpuMs.worker / 1_000],
  ["memory, peak", "MiB", ({ memory }) => (memory.workerBytes + memory.childrenBytes) / 1_048_576],
  ["requests to BMCs", "count", ({ bmcRequests }) => bmcRequests],
  ["calls of the tink server", "count", ({ server }) => server.polls + server.reports],
];

const runtimes = values.runtime.split(",");
interface Measured {
  readonly title: string;
  readonly runtime: string;
  readonly machines: number;
  readonly figures: FleetFigures;
}
const measured: Measured[] = [];
for (const runtime of runtimes) {
  const maxActions = values.maxActions ?? MAX_ACTIONS[runtime] ?? 16;
  for (const machines of values.machines) {
    const figures = await measureFleet({
      machines,
      runtime,
      maxActions,
      latencyMs: values.latency,
      transitionMs: values.transition,
      nodeArgv: values.nodeOption,
      wakesUp: values.wakeUp,
      tls: values.tls,
    });
    const title = `${machines} machines, ${runtime}, ${maxActions} at a time`;
    measured.push({ title, runtime, machines, figures });
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const milliseconds = (ms: number) => `${ms.toFixed(0)} ms`;
const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(0)} MiB`;
const spread = (of: Spread, unit: (ms: number) => string) => of.map(unit).join(" / ");
const rows: readonly (readonly [string, (figures: FleetFigures) => string])[] = [
  ["total time", ({ totalMs }) => seconds(totalMs)],
  ["ideal schedule", ({ idealMs }) => seconds(idealMs)],
  [`ratio, at most ${TARGET_RATIO}`, ({ totalMs, idealMs }) => `${(totalMs / idealMs).toFixed(2)} x`],
  ["actions per second", ({ actions, totalMs }) => (actions / (totalMs / 1_000)).toFixed(1)],
  ["queueing, 50 / 95 / 99 %", ({ queueingMs }) => spread(queueingMs, seconds)],
  ["overhead, 50 / 95 / 99 %", ({ overheadMs }) => spread(overheadMs, milliseconds)],
  ["a machine, from start to end, 50 / 95 / 99 %", ({ machineMs }) => spread(machineMs, seconds)],
  ["memory of the worker, peak", ({ memory }) => mebibytes(memory.workerBytes)],
  ["memory of its children, peak", ({ memory }) => mebibytes(memory.childrenBytes)],
  ["processor time of the worker", ({ cpuMs }) => seconds(cpuMs.worker - cpuMs.children)],
  ["processor time of its children", ({ cpuMs }) => seconds(cpuMs.children)],
  ["processor time per action", ({ cpuMs, actions }) => `${(cpuMs.worker / actions).toFixed(1)} ms`],
  ["processor time of tink server and BMCs", ({ othersCpuMs }) => seconds(othersCpuMs)],
  ["requests to BMCs per action", ({ bmcRequests, actions }) => (bmcRequests / actions).toFixed(1)],
  ["reports per action", ({ server, actions }) => (server.reports / actions).toFixed(1)],
  ["polls per action", ({ server, actions }) => (server.polls / actions).toFixed(1)],
  ["connections to the tink server", ({ server }) => String(server.connections)],
  ["failed actions", ({ failed }) => String(failed.length)],
  ["machines with a repeated power command", ({ repeated }) => String(repeated)],
];
const head = [
  `${values.latency} ms per request, ${values.transition} ms per power transition`,
  ...measured.map(({ title }) => title),
];
const table = rows.map(([title, figure]) => [title, ...measured.map(({ figures }) => figure(figures))]);
process.stdout.write(
  `${formatTable(
    head,
    table,
    measured.map((_, index) => index + 1),
  )}\n`,
);
for (const { title, figures } of measured) {
  const { ownMs, failed, apiRequests } = figures;
  const own = Object.entries(ownMs).map(([name, ms]) => `${name} ${seconds(ms)}`);
  process.stdout.write(`${title}: an action's own time: ${own.join(", ")}\n`);
  if (apiRequests) {
    const all = apiRequests.reduce((sum, [, count]) => sum + count, 0);
    const each = apiRequests.map(([name, count]) => `${name} ${count.toFixed(2)}`).join(", ");
    process.stdout.write(`${title}: requests to the API server per action: ${all.toFixed(1)}: ${each}\n`);
  }
  if (failed[0] !== undefined) process.stdout.write(`${title}: failed, such as: ${failed[0]}\n`);
}
process.stdout.write(`
An action's own time is the median, over three machines one after the other on the otherwise idle worker of the same
run, from its start to its end as reported: launch, the requests to the BMC, the machine's transition, the result.
The ideal schedule is a list schedule of these times on as many slots, with nothing between them.
Queueing is from ready (submitted, or the action before it ended) to RUNNING, overhead what an action took from
RUNNING to its end beyond its own time, both as the server sees them. The worker, the tink server and the BMCs share
this machine's processors.
`);
if (values.machines.length > 1) for (const runtime of runtimes) await growth(runtime);
if (measured.some(({ figures }) => figures.failed.length + figures.repeated > 0)) process.exitCode = 1;

/** Prints how well a line describes what grows with the number of machines, and draws it. */
async function growth(runtime: string): Promise<void> {
  const points = (figure: (figures: FleetFigures) => number) =>
    measured
      .filter((each) => each.runtime === runtime)
      .map(({ machines, figures }): Point => [machines, figure(figures)]);
  const seen = GROWING.filter(([, , figure]) => points(figure).every(([, value]) => value > 0));
  const fitted = seen.map(([title, unit, figure]): Chart => {
    const { base, perMachine, deviation } = linearFit(points(figure));
    const line = `${digits(base)} + ${digits(perMachine)} per machine`;
    const share = (100 * deviation).toFixed(0);
    process.stdout.write(`${runtime}: ${title}, ${unit}: ${line}; differs from it by at most ${share} %\n`);
    return {
      title: `${title}, ${unit}`,
      points: points(figure),
      line: (machines) => base + perMachine * machines,
    };
  });
  const ideal = new Map(points(({ idealMs }) => idealMs / 1_000));
  const time: Chart = {
    title: "time and ideal schedule, s",
    points: points(({ totalMs }) => totalMs / 1_000),
    line: (machines) => ideal.get(machines) ?? 0,
  };
  if (values.plot !== undefined) await writeFile(values.plot, growthSvg([time, ...fitted]));
}

function digits(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 2, maximumFractionDigits: 3 });
}

/** Numbers of machines, as an option's value. */
function counts(text: string): readonly number[] {
  return text.split(",").map(count);
}
