import { join } from "node:path";
import { defineConfig } from "vitest/config";

const mocked = "test/worker/core/run/crash-points.test.ts";
const system = "test/system/**";
const interop = "test/interop/**/*.test.ts";
const kubernetes = "test/interop/kubernetes/**/*.test.ts";
/** What the fake API server does, and a real one as well. */
const kubernetesContract = [
  "test/simulators/kubernetes/api-contract.test.ts",
  "test/simulators/kubernetes/node/kubelet.test.ts",
];

// Node strips the types of each file only once, here and in child processes that run the sources.
process.env["NODE_COMPILE_CACHE"] ??= join(
  import.meta.dirname,
  "node_modules/.cache/pbnj-worker-test/sources",
);

/** The tests of the code that mutation changes between runs. */
const mutationTests = process.env["PBNJ_MUTATION_TESTS"]?.split(" ");
const mutates = mutationTests !== undefined;
const inThisRun = (...files: readonly string[]) =>
  files.filter((file) => !mutationTests || mutationTests.includes(file));

export default defineConfig(({ mode }) => ({
  test: {
    // Real servers and child processes: slow machines need room, a hang must still end.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["./test/support/flaky-reporter.ts", "default"],
    setupFiles: ["test/support/set-up-process.ts"],
    expect: { poll: { timeout: 30_000 } },
    // Most tests wait for sockets, processes and timers: more of them run than there are processors.
    // System tests have processes of their own besides.
    maxWorkers: mode === "unit" ? 8 : 6,
    maxConcurrency: mutates ? 1 : 10,
    // Tests make many objects that live briefly: with V8's young generation of 16 MiB they take a tenth more processor time.
    execArgv: ["--max-semi-space-size=64"],
    // Loading every file's modules anew takes as long as the tests do.
    isolate: mutates,
    // TypeScript runs as it is, without Vite's transformation.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      // Unit and system tests share processes; `--mode unit` leaves the system tests out.
      {
        extends: true,
        test: {
          name: "tests",
          include: mutationTests ?? ["test/**/*.test.ts"],
          exclude: [interop, mocked, ...(mode === "unit" ? [system] : [])],
        },
      },
      // Replaces a module of Node, which the tests of the same process must not see.
      {
        extends: true,
        test: {
          name: "mocked",
          include: inThisRun(mocked),
          isolate: true,
          experimental: { viteModuleRunner: true },
        },
      },
      // Programs of others, from the package registries.
      { extends: true, test: { name: "interop", include: inThisRun(interop), exclude: [kubernetes] } },
      {
        extends: true,
        test: {
          name: "kubernetes",
          include: inThisRun(kubernetes, ...kubernetesContract),
          globalSetup: "test/interop/kubernetes/global-setup.ts",
        },
      },
    ],
  },
}));
