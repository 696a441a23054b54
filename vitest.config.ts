import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Real servers and child processes: slow machines need room, a hang must still end.
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Most tests wait for processes and timers: more of them run than there are processors.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: "own", include: ["test/**/*.test.ts"], exclude: ["test/interop/**"] } },
      // Against programs of others, from the package registries.
      { extends: true, test: { name: "interop", include: ["test/interop/**/*.test.ts"] } },
    ],
  },
});
