import type { Plugin } from "esbuild";

const REASON = "an action's log goes to stderr, without pino's transports and their threads";

/**
 * Leaves pino's transports out of an action's bundle, with everything that only they import: no action uses them. If one did after all, the
 * reason would be thrown.
 */
export const leaveOutTransports: Plugin = {
  name: "leave-out-transports",
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/]pino[\\/]lib[\\/]transport\.js$/ }, () => ({
      contents: `module.exports = () => { throw new Error(${JSON.stringify(REASON)}); };`,
      loader: "js",
    }));
  },
};
