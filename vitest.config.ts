import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Real servers and child processes: slow machines need room, a hang must still end.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Most tests wait for processes and timers: more of them run than there are processors.
    maxWorkers: 4,
    projects: [
      // No child processes; real sockets and files.
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/system/**", "test/interop/**"],
          sequence: { groupOrder: 0 },
        },
      },
      // Real processes, containers, Chromium, Helm.
      {
        extends: true,
        test: { name: "system", include: ["test/system/**/*.test.ts"], sequence: { groupOrder: 1 } },
      },
      // Programs of others, from the package registries.
      {
        extends: true,
        test: { name: "interop", include: ["test/interop/**/*.test.ts"], sequence: { groupOrder: 2 } },
      },
    ],
  },
});
