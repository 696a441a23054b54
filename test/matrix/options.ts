import { parseArgs } from "node:util";

export const USAGE = `usage: npm run matrix -- [--only ACTION[/WAY[/N[/FAULT]]]] [--seconds N] [--runs N] [--seed N] [--jobs N] [--log]

  --only     only these runs; "list" prints the actions and their ways
  --seconds  a sample of all runs, which takes so long (default: all of them)
  --runs     a sample of so many
  --seed     which sample (default: 1)
  --jobs     runs at a time (default: one per processor)
  --log      print the log of each run`;

export interface MatrixOptions {
  readonly only: string | undefined;
  /** Undefined runs everything. */
  readonly seconds: number | undefined;
  readonly runs: number | undefined;
  readonly seed: number;
  readonly jobs: number;
  readonly log: boolean;
}

/** Throws an `Error` for flags that it does not know. */
export function readOptions(argv: readonly string[], processors: number): MatrixOptions {
  const flag = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: flag,
      seconds: flag,
      runs: flag,
      seed: flag,
      jobs: flag,
      log: { type: "boolean", default: false },
    },
  });
  return {
    only: values.only,
    seconds: wholeNumber("seconds", values.seconds),
    runs: wholeNumber("runs", values.runs),
    seed: wholeNumber("seed", values.seed) ?? 1,
    jobs: Math.max(1, wholeNumber("jobs", values.jobs) ?? processors),
    log: values.log,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
