import { join } from "node:path";
import { Stryker } from "@stryker-mutator/core";
import { PARTS } from "./parts.ts";

/**
 * `npm run mutation -- <part>`: changes the code in one place at a time where a wrong line acts twice, and prints the changes
 * that no test notices.
 */

const [name = "", ...mutate] = process.argv.slice(2);
const part = PARTS[name];
if (!part) {
  process.stderr.write(`usage: npm run mutation -- ${Object.keys(PARTS).join("|")} [file[:lines]...]\n`);
  process.exit(2);
}

// Enough for a change; the tests of every commit search longer.
process.env["PBNJ_SCHEDULES"] ??= "20";
// Stryker's own `testFiles` activates changes of module constants too late (stryker-js issue 6144).
process.env["PBNJ_MUTATION_TESTS"] = part.testFiles.join(" ");

await new Stryker({
  mutate: mutate.length > 0 ? mutate : [...part.mutate],
  testRunner: "vitest",
  // TypeScript 7 cannot rewrite it for the copy, which needs no change.
  tsconfigFile: "",
  plugins: ["@stryker-mutator/vitest-runner", join(import.meta.dirname, "ignore-logs.ts")],
  ignorers: ["logs"],
  vitest: { related: false, pool: "forks" },
  // Most texts are for people; a wrong name of a state does not compile.
  mutator: { excludedMutations: ["StringLiteral"] },
  concurrency: 1,
  timeoutMS: 10_000,
  incremental: true,
  incrementalFile: `node_modules/.cache/pbnj-worker-mutation/${name}.json`,
  tempDirName: "dist/mutation",
  reporters: ["clear-text", "progress-append-only"],
  clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
  allowConsoleColors: false,
}).runMutationTest();
