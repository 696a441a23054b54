import { parseArgs } from "node:util";
import { measureScaling } from "./scaling/measure.ts";
import { scalingTables } from "./scaling/tables.ts";

/**
 * `npm run bench:scaling`: replicas that share the lanes of many machines, with the worker's own code over an API in
 * memory, in time that is simulated: the same figures for the same seed, whatever the machine. docs/explanation/scaling.md has them.
 */
const { values } = parseArgs({
  options: {
    machines: { type: "string", default: "100000" },
    replicas: { type: "string", default: "50" },
    repeats: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});
const options = {
  machines: Number(values.machines),
  replicas: Number(values.replicas),
  repeats: Number(values.repeats),
  seed: Number(values.seed),
};
const figures = await measureScaling(options);
process.stdout.write(`${scalingTables(options, figures)}\n`);
if (figures.doubles > 0) process.exitCode = 1;
