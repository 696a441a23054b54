import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { measureScaling } from "./scaling/measure.ts";
import { measureProcesses } from "./scaling/processes.ts";
import { scalingTables } from "./scaling/tables.ts";

/** `npm run bench:scaling`; docs/explanation/scaling.md has the figures. */
const options = tool(
  "bench:scaling",
  "Simulates replicas that share the lanes of many machines, with the worker's own code, an API in memory and virtual time. The same seed gives the same figures on every machine.",
)
  .option("--machines <count>", "number of machines", count, 100_000)
  .option("--replicas <count>", "number of replicas", count, 50)
  .option("--repeats <count>", "repetitions of each event", count, 10)
  .option("--seed <number>", "seed of the run", wholeNumber, 1)
  .option(
    "--processes",
    "run replicas as processes, and actions as Jobs, with etcd, kube-apiserver, kube-controller-manager and kwok",
    false,
  )
  .parse()
  .opts<{ machines: number; replicas: number; repeats: number; seed: number; processes: boolean }>();
const figures = options.processes ? await measureProcesses(options) : await measureScaling(options);
process.stdout.write(`${scalingTables(options, figures)}\n`);
const { doubles, actions } = figures;
if (actions?.failed[0] !== undefined) process.stdout.write(`failed, such as: ${actions.failed[0]}\n`);
const isRepeated = actions !== undefined && actions.jobs > actions.workflows;
if (doubles > 0 || isRepeated || (actions?.failed.length ?? 0) > 0) process.exitCode = 1;
