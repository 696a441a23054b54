import { join, relative } from "node:path";
import type { Plugin } from "esbuild";

const SLIM_ENTRY = join(import.meta.dirname, "slim-undici.mjs");
const PROJECT_ROOT = join(import.meta.dirname, "../..");

/**
 * For the program that is both worker and actions: `slim-undici.mjs` for what actions run, the whole of undici for the rest. Both
 * are made of the same files, so that nothing is in the bundle twice.
 */
export const leanUndici: Plugin = {
  name: "lean-undici",
  setup(build) {
    build.initialOptions.logOverride = {
      ...build.initialOptions.logOverride,
      "import-is-undefined": "error",
    };
    build.onResolve({ filter: /^undici$/ }, ({ importer }) =>
      /^(actions|shared)\//.test(relative(PROJECT_ROOT, importer)) ? { path: SLIM_ENTRY } : undefined,
    );
  },
};
