import { randomInt } from "node:crypto";
import { Worker } from "node:worker_threads";
import { formatTable } from "../../shared/table.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Finding } from "./fuzz.ts";
import { type FuzzOptions, readOptions, USAGE } from "./options.ts";
import type { FuzzResult } from "./run-fuzz.ts";
import { targets } from "./targets.ts";

/**
 * `npm run fuzz`: calls every parser of what strangers write with random and with ever longer inputs. Exits 0 when each
 * gave an answer or its own kind of error in time that grows no faster than n log n, 1 with what went wrong, 2 for flags
 * that it does not understand.
 */

/** The longest steps take a few seconds; a busy machine makes them longer. */
const HUNG_MS = 60_000;

process.exitCode = await main();

async function main(): Promise<number> {
  let options: FuzzOptions;
  try {
    options = readOptions(process.argv.slice(2), () => randomInt(1_000_000));
  } catch (thrown) {
    process.stderr.write(`${textOf(thrown)}\n${USAGE}\n`);
    return 2;
  }
  const { target, seed } = options;
  if (target !== undefined && !targets.some(({ name }) => name === target)) {
    process.stderr.write(`the targets are: ${targets.map(({ name }) => name).join(", ")}\n`);
    return target === "list" ? 0 : 2;
  }
  process.stderr.write(`fuzz with --seed ${seed}\n`);
  const { findings, reports, unchecked } = await inThread(options);
  const rows = reports.map(({ target: name, runs, shapes, slowestMs, exponent }) => [
    name,
    String(runs),
    String(shapes),
    `${slowestMs.toFixed(1)} ms`,
    exponent === undefined ? "-" : `n^${exponent.toFixed(2)}`,
  ]);
  const head = ["target", "runs", "growth checks", "slowest", "growth"];
  process.stdout.write(`${formatTable(head, rows, [1, 2, 3, 4])}\n`);
  if (unchecked > 0) process.stdout.write(`no time for ${unchecked} growth checks: give more --seconds\n`);
  for (const { target: name, what, again, input } of findings) {
    process.stdout.write(`\nWRONG ${name}: ${what}\n`);
    if (input !== undefined) process.stdout.write(`  input: ${JSON.stringify(input)}\n`);
    process.stdout.write(`  again: ${again}\n`);
  }
  process.stdout.write(findings.length === 0 ? "nothing is wrong\n" : "");
  return findings.length === 0 ? 0 : 1;
}

/** A parser that never returns, or takes all memory, is a finding, and the end. */
async function inThread(options: FuzzOptions): Promise<FuzzResult> {
  const thread = new Worker(new URL("thread.ts", import.meta.url), { workerData: options });
  const ended = Promise.withResolvers<FuzzResult>();
  let step = "";
  const endWith = (what: string) => {
    const finding: Finding = { target: step.split(" ")[1] ?? "", what, again: `npm run fuzz -- ${step}` };
    ended.resolve({ findings: [finding], reports: [], unchecked: 0 });
  };
  const watchdog = setTimeout(() => endWith(`does not return within ${HUNG_MS / 1_000} s`), HUNG_MS);
  thread.on("message", (message: { readonly step?: string; readonly result?: FuzzResult }) => {
    step = message.step ?? step;
    watchdog.refresh();
    if (message.result) ended.resolve(message.result);
  });
  thread.on("error", (thrown) =>
    endWith(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)),
  );
  try {
    return await ended.promise;
  } finally {
    clearTimeout(watchdog);
    await thread.terminate();
  }
}
