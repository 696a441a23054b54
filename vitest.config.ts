import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Real servers and child processes: slow machines need room, a hang must still end.
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
