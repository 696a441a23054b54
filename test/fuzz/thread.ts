import { parentPort, workerData } from "node:worker_threads";
import { runFuzz } from "./run-fuzz.ts";
import { targets } from "./targets.ts";

/** The thread that calls the parsers: one that never returns is found by the other thread. */
const { seconds, target, ...rest } = workerData as {
  readonly seconds: number;
  readonly seed: number;
  readonly target: string | undefined;
  readonly run: number | undefined;
  readonly shape: number | undefined;
};
const chosen = targets.filter(({ name }) => target === undefined || name === target);
const result = runFuzz({
  ...rest,
  targets: chosen,
  deadline: performance.now() + seconds * 1_000,
  onStep: (step) => parentPort?.postMessage({ step }),
});
parentPort?.postMessage({ result });
