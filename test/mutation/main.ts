import { join } from "node:path";
import { Stryker } from "@stryker-mutator/core";

/**
 * `npm run mutation -- <part>`: changes the code in one place at a time where a wrong line acts twice, and prints the changes
 * that no test notices.
 */

interface Part {
  readonly mutate: readonly string[];
  /** The lowest tests that should notice each change. Files with a project of their own must be named in full. */
  readonly testFiles: readonly string[];
}

const PARTS: Readonly<Record<string, Part>> = {
  execution: {
    mutate: [
      "worker/core/run/{action-run,adopt,executor,known,orphan-sweep,services,start}.ts",
      "worker/machines/launch-credentials.ts",
    ],
    testFiles: [
      "test/worker/{executor-journal,legacy-again,legacy-hooks}.test.ts",
      "test/worker/core/{run,lanes}/*.test.ts",
      "test/worker/machines/launch-credentials.test.ts",
      "test/worker/core/run/crash-points.test.ts",
      "test/worker/features/status/worker.test.ts",
    ],
  },
  reports: {
    mutate: ["worker/core/reports/*.ts"],
    testFiles: ["test/worker/core/reports/*.test.ts", "test/worker/core/run/outages.test.ts"],
  },
  journal: {
    mutate: ["worker/core/journal/*.ts"],
    testFiles: ["test/worker/core/journal/*.test.ts", "test/system/worker/state-lock.test.ts"],
  },
  turns: { mutate: ["worker/core/turns/*.ts"], testFiles: ["test/worker/core/turns/*.test.ts"] },
  power: {
    mutate: ["shared/bmc/operations/power*.ts"],
    testFiles: [
      "test/shared/bmc/operations/{power,wait-for-power,assumed-plan}.test.ts",
      "test/actions/{dry-run,power-settings}.test.ts",
    ],
  },
  boot: {
    mutate: ["shared/bmc/operations/boot*.ts"],
    testFiles: [
      "test/shared/bmc/operations/{boot,wait-for-boot,assumed-plan}.test.ts",
      "test/actions/boot-order.test.ts",
    ],
  },
  rakp: {
    mutate: [
      "shared/bmc/providers/ipmi/{cipher-suite,credentials,handshake*,open-session,opening,rakp}.ts",
      "shared/bmc/providers/ipmi/{sealed-packet,sequence-window}.ts",
    ],
    testFiles: [
      "test/shared/bmc/providers/ipmi/{faults,handshake,lasting-session,packets,properties,session,units}.test.ts",
    ],
  },
};

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
