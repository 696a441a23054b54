import { join } from "node:path";
import type { Plugin } from "esbuild";

const SLIM_ENTRY = join(import.meta.dirname, "slim-undici.mjs");

/**
 * Resolves `undici` to `slim-undici.mjs`. esbuild itself fails on a name that the slim entry lacks; imports whose names it
 * cannot see are rejected, because they would fail at run time.
 */
export const slimUndici: Plugin = {
  name: "slim-undici",
  setup(build) {
    // With `import * as undici` a missing name would only be a warning.
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
