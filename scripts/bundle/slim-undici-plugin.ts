import { join } from "node:path";
import type { Plugin } from "esbuild";

const SLIM_ENTRY = join(import.meta.dirname, "slim-undici.mjs");

/**
 * Gives `slim-undici.mjs` to whoever imports `undici`. esbuild itself fails on a name that the slim entry
 * lacks; imports in which it cannot see the names are refused, as they would fail at run time instead.
 */
export const slimUndici: Plugin = {
  name: "slim-undici",
  setup(build) {
    // `import * as undici` makes a missing name a mere warning.
    build.initialOptions.logOverride = {
      ...build.initialOptions.logOverride,
      "import-is-undefined": "error",
    };
    build.onResolve({ filter: /^undici$/ }, ({ kind, importer }) => {
      if (kind === "import-statement") return { path: SLIM_ENTRY };
      const text = `${importer}: import undici by name and statically, in a module that is itself loaded lazily`;
      return { errors: [{ text }] };
    });
  },
};
