import { parseArgs } from "node:util";

export const USAGE = `usage: npm run fuzz -- [--seconds N] [--seed N] [--target NAME] [--run N | --shape N]

  --seconds  how long to run (default 60)
  --seed     the same runs again (default: a random one, printed)
  --target   only this target; "list" prints all of them
  --run      only the run of this number
  --shape    only the growth check of this number`;

export interface FuzzOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly target: string | undefined;
  readonly run: number | undefined;
  readonly shape: number | undefined;
}

/** Throws an `Error` for flags that it does not know. */
export function readOptions(argv: readonly string[], randomSeed: () => number): FuzzOptions {
  const flag = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: { seconds: flag, seed: flag, target: flag, run: flag, shape: flag },
  });
  const { target } = values;
  const run = wholeNumber("run", values.run);
  const shape = wholeNumber("shape", values.shape);
  if ((run ?? shape) !== undefined && target === undefined)
    throw new Error("--run and --shape need --target");
  return {
    seconds: wholeNumber("seconds", values.seconds) ?? 60,
    seed: wholeNumber("seed", values.seed) ?? randomSeed(),
    target,
    run,
    shape,
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
