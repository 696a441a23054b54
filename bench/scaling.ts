import { count, tool, wholeNumber } from "../scripts/tool.ts";
import { measureScaling } from "./scaling/measure.ts";
import { scalingTables } from "./scaling/tables.ts";

/** `npm run bench:scaling`; docs/explanation/scaling.md has the figures. */
const options = tool(
  "bench:scaling",
  "Replicas that share the lanes of many machines, with the worker's own code over an API in memory, in time that is simulated: the same figures for the same seed, whatever the machine.",
)
  .option("--machines <count>", "machines", count, 100_000)
  .option("--replicas <count>", "replicas", count, 50)
  .option("--repeats <count>", "times that each event is repeated", count, 10)
  .option("--seed <number>", "the same run again", wholeNumber, 1)
  .parse()
  .opts<{ machines: number; replicas: number; repeats: number; seed: number }>();
const figures = await measureScaling(options);
process.stdout.write(`${scalingTables(options, figures)}\n`);
if (figures.doubles > 0) process.exitCode = 1;
