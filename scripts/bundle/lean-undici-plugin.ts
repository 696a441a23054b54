import { join, relative } from "node:path";
import type { Plugin } from "esbuild";

const SLIM_ENTRY = join(import.meta.dirname, "slim-undici.mjs");
const PROJECT_ROOT = join(import.meta.dirname, "../..");

/**
 * For the program that is both worker and actions: `slim-undici.mjs` for what actions use, all of undici for the rest. Both
 * import the same files, so nothing is bundled twice.
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
