import type { Plugin } from "esbuild";

/**
 * Leaves native addons out: a bundle is for every architecture. ssh2 has two, which only make it faster, and does without them
 * if they cannot be loaded.
 */
export const withoutNative: Plugin = {
  name: "without-native",
  setup(build) {
    build.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path, namespace: "native" }));
    build.onLoad({ filter: /.*/, namespace: "native" }, () => ({
      contents: `throw new Error("native addons are not in the bundle");`,
    }));
  },
};
