import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { measureScaling } from "./scaling/measure.ts";
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
  .parse()
  .opts<{ machines: number; replicas: number; repeats: number; seed: number }>();
const figures = await measureScaling(options);
process.stdout.write(`${scalingTables(options, figures)}\n`);
if (figures.doubles > 0) process.exitCode = 1;
