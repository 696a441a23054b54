import { Readable } from "node:stream";
import { loadAction } from "../../actions/catalogue.ts";
import { readInput } from "../../actions/harness/input/read-input.ts";
import { makeRecording } from "../../cli/record/make-recording.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import { silentLogger } from "../../shared/logger.ts";
import { parseRecording } from "../../shared/recording/recording.ts";

const LIMITS = { requests: 3_000, bytes: 32_000_000, ms: 120_000 };

interface Options {
  readonly clock?: Clock;
  readonly stdin?: string;
  /** Called when all is read, before the action runs. */
  readonly beforeAction?: () => void;
}

/** The recording that `pbnj-worker record --action` writes, with the result of the action. */
export async function recordAction(
  name: string,
  env: Readonly<Record<string, string>>,
  { clock = systemClock, stdin = "", beforeAction }: Options = {},
) {
  const action = await loadAction(name);
  if (!action) throw new Error(`there is no action ${name}`);
  const signal = AbortSignal.timeout(LIMITS.ms);
  const read = await readInput(action, {
    env,
    flags: {},
    stdin: () => Readable.from([Buffer.from(stdin)]),
    signal,
  });
  if (!read.ok) throw new Error(read.problems.join("; "));
  const progress = (text: string) => (text === `running ${name}` ? beforeAction?.() : undefined);
  const options = { limits: LIMITS, log: silentLogger, signal, clock, progress };
  const { text, result } = await makeRecording(action, read.input, options);
  if (!result) throw new Error(`${name} has no result`);
  return { recording: parseRecording(Buffer.from(text)), text, result };
}
