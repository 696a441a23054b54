/**
 * Provokes every failure of docs/reference/troubleshooting.md and writes its output into the page:
 * `node test/docs/refresh-troubleshooting.ts`, or with the names of some.
 */
import { readFile, writeFile } from "node:fs/promises";
import { failures, provoked } from "./failures/failures.ts";
import { renderSeen, TROUBLESHOOTING_PAGE, withOutput } from "./failures/manual-page.ts";

/** Nearly all of it is waiting. */
const AT_A_TIME = 6;

const wanted = process.argv.slice(2);
const chosen = failures.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const unknown = wanted.filter((name) => !failures.some((failure) => failure.name === name));
if (unknown.length > 0) throw new Error(`there is no failure ${unknown.join(", ")}`);
let page = await readFile(TROUBLESHOOTING_PAGE, "utf8");
for (let first = 0; first < chosen.length; first += AT_A_TIME) {
  const batch = chosen.slice(first, first + AT_A_TIME);
  const ended = await Promise.allSettled(batch.map(provoked));
  for (const [index, { name }] of batch.entries()) {
    const end = ended[index];
    if (end?.status === "fulfilled") page = withOutput(page, name, renderSeen(end.value));
    else {
      process.stderr.write(
        `${name} stays as it was: ${end?.reason instanceof Error ? end.reason.message : end?.reason}\n`,
      );
      process.exitCode = 1;
    }
  }
}
await writeFile(TROUBLESHOOTING_PAGE, page);
