import { randomInt } from "node:crypto";
import { textOf } from "../../shared/text-of.ts";
import { type ChaosOptions, readOptions, USAGE } from "./options.ts";
import { chaosReport } from "./report.ts";
import { runChaos } from "./run-chaos.ts";

/**
 * `npm run chaos`: workers, a tink server and BMCs, of which things go wrong at random for some minutes. Exits 0 when
 * every promise was kept, 1 with what is wrong when not, 2 for flags it does not understand.
 */

/** Time beyond the requested one, if every round takes as long as it may to settle. */
const OVERHEAD_MS = 10 * 60_000;
const OVERHEAD_FACTOR = 6;
/** What ends nothing by then is not waited for. */
const CLEAN_UP_MS = 90_000;

process.exitCode = await main();

async function main(): Promise<number> {
  let options: ChaosOptions;
  try {
    options = readOptions(process.argv.slice(2), () => randomInt(1_000_000));
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\n${USAGE}\n`);
    return 2;
  }
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const stop = new AbortController();
  const limitMs = OVERHEAD_MS + OVERHEAD_FACTOR * options.durationMs;
  const limit = setTimeout(() => stop.abort(new Error("the run did not come to its end in time")), limitMs);
  const onSignal = () => stop.abort(new Error("the run was stopped"));
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  say(`chaos with --seed ${options.seed}`);
  stop.signal.addEventListener("abort", () => {
    setTimeout(() => process.exit(1), CLEAN_UP_MS).unref();
  });
  try {
    const result = await runChaos(options, say, stop.signal);
    process.stdout.write(`${chaosReport(options, result)}\n`);
    return result.findings.length === 0 ? 0 : 1;
  } catch (thrown) {
    say(`WRONG the run itself: ${messageOf(stop.signal.aborted ? stop.signal.reason : thrown)}`);
    return 1;
  } finally {
    clearTimeout(limit);
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

function messageOf(thrown: unknown): string {
  return textOf(thrown);
}
