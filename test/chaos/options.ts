import { parseArgs } from "node:util";
import { z } from "zod";

export const ChaosRuntime = z.enum(["process", "in-process", "docker", "kubernetes"]);
export type ChaosRuntime = z.infer<typeof ChaosRuntime>;

export interface ChaosOptions {
  /** How long things go wrong, all rounds together. */
  readonly durationMs: number;
  readonly machines: number;
  readonly seed: number;
  /** Each has two workers: one that is killed again and again, and one that is left alive. */
  readonly runtimes: readonly ChaosRuntime[];
  /** Workflows that are under way at a time, for each worker. */
  readonly load: number;
  /** Where the workers' logs stay; they go with everything else when absent. */
  readonly logs?: string;
}

export const USAGE = `npm run chaos -- [--minutes 5] [--machines 40] [--seed N] [--runtime process,in-process,docker,kubernetes]
                    [--load 4] [--logs FOLDER]`;

const positive = (name: string) =>
  z.coerce.number({ error: `${name} is not a number` }).positive(`${name} must be above 0`);
const Flags = z.object({
  minutes: positive("--minutes").max(24 * 60, "--minutes is more than a day"),
  machines: positive("--machines").int("--machines is not a whole number"),
  seed: z.coerce.number({ error: "--seed is not a number" }).int("--seed is not a whole number").optional(),
  runtime: z.array(ChaosRuntime, { error: "--runtime is missing" }).min(1),
  load: positive("--load").int("--load is not a whole number"),
  logs: z.string().min(1).optional(),
});

/** Throws an error of one line for what it does not understand. `anySeed` serves where none is given. */
export function readOptions(argv: readonly string[], anySeed: () => number): ChaosOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: "string", default: "5" },
      machines: { type: "string", default: "40" },
      seed: { type: "string" },
      runtime: { type: "string", default: "process" },
      load: { type: "string", default: "4" },
      logs: { type: "string" },
    },
  });
  const parsed = Flags.safeParse({ ...values, runtime: values.runtime.split(",") });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(
      issue?.path[0] === "runtime" ? `--runtime ${values.runtime}: ${issue.message}` : issue?.message,
    );
  }
  const { minutes, machines, seed = anySeed(), runtime, load, logs } = parsed.data;
  const runtimes = [...new Set(runtime)];
  if (machines < 2 * runtimes.length) throw new Error("--machines must be at least two for each runtime");
  return {
    durationMs: minutes * 60_000,
    machines,
    seed,
    runtimes,
    load,
    ...(logs === undefined ? {} : { logs }),
  };
}
