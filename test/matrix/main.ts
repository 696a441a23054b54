import { availableParallelism } from "node:os";
import { textOf } from "../../shared/text-of.ts";
import { cellsOf, isMeant, mayBeMeant, nameOf, type Row, shuffled } from "./cells.ts";
import { type MatrixOptions, readOptions, USAGE } from "./options.ts";
import { MatrixReport } from "./report.ts";
import { Threads } from "./threads.ts";
import { WAYS } from "./ways.ts";

/**
 * `npm run matrix`: every action that changes a machine, with every answer of its BMC made wrong in every way, judged by what the
 * simulated machine carried out. Exits 0 when nothing is wrong, 1 with what is wrong, 2 for flags that it does not understand.
 */

process.exitCode = await main();

async function main(): Promise<number> {
  let options: MatrixOptions;
  try {
    options = readOptions(process.argv.slice(2), availableParallelism());
  } catch (thrown) {
    process.stderr.write(`${textOf(thrown)}\n${USAGE}\n`);
    return 2;
  }
  const { only, seconds, runs, seed, jobs, log } = options;
  const startedMs = performance.now();
  await using threads = new Threads(jobs);
  const actions = await threads.actions();
  const meant = actions.filter((action) => mayBeMeant(action, only));
  if (meant.length === 0) {
    process.stderr.write(`the actions are: ${actions.join(", ")}\nthe ways are: ${WAYS.join(", ")}\n`);
    return only === "list" ? 0 : 2;
  }
  const rowsOf = new Map<string, readonly Row[]>();
  await threads.each(meant, async (thread, action) => void rowsOf.set(action, await thread.rowsOf(action)));
  // Whichever thread was first, a seed means the same sample.
  const rows = meant.flatMap((action) => rowsOf.get(action) ?? []);
  const cells = rows.flatMap(cellsOf).filter((cell) => isMeant(nameOf(cell), only));
  const report = new MatrixReport(
    rows.filter(({ action, way }) => mayBeMeant(`${action}/${way}`, only)),
    cells.length,
  );
  const endMs = seconds === undefined ? Number.POSITIVE_INFINITY : startedMs + seconds * 1_000;
  const sample = (seconds ?? runs) === undefined ? cells : shuffled(cells, seed).slice(0, runs);
  await threads.each(sample, async (thread, cell) => {
    if (performance.now() > endMs) return;
    const done = await thread.run(cell, log);
    if (log) process.stdout.write(`${nameOf(cell)}\n${done.log}\n`);
    for (const line of report.add(done)) process.stdout.write(`${line}\n`);
  });
  process.stdout.write(`\n${report.text()}`);
  return report.isRight ? 0 : 1;
}
