import { join } from "node:path";
import type { Plugin } from "esbuild";

/** A module that is imported but never used; the bundle gets a stub that throws. */
interface UnreachableModule {
  /** Below `node_modules`. */
  readonly file: string;
  /** When the stub throws: when it is loaded, or when its exports are called. */
  readonly usedBy: "load" | "call";
  /** Why it is not used, for the error. */
  readonly reason: string;
}

const UNREACHABLE: readonly UnreachableModule[] = [
  {
    // A second copy of the HTTP parser, for engines whose WebAssembly has no SIMD.
    file: "undici/lib/llhttp/llhttp-wasm.js",
    usedBy: "load",
    reason: "the HTTP parser needs WebAssembly with SIMD, as Node 24 has it on amd64 and arm64",
  },
  {
    file: "undici/lib/dispatcher/client-h2.js",
    usedBy: "call",
    reason: "no action offers HTTP/2 to a BMC (allowH2 is false), so none can choose it",
  },
  {
    file: "pino/lib/transport.js",
    usedBy: "call",
    reason: "an action's log goes to stderr, without pino's transports and their threads",
  },
];

/** undici checks this before it loads the parser without SIMD. */
const PARSER_SWITCHES = ["process.env.JEST_WORKER_ID", "process.env.UNDICI_NO_WASM_SIMD"];

/**
 * Leaves modules that no action uses out of an action's bundle, with everything that only they import. For the images, which
 * run Node 24 on amd64 and arm64. If such a module were used after all, its reason would be thrown.
 */
export const leaveOutUnreachable: Plugin = {
  name: "leave-out-unreachable",
  setup(build) {
    build.initialOptions.define = {
      ...build.initialOptions.define,
      ...Object.fromEntries(PARSER_SWITCHES.map((name) => [name, "undefined"])),
    };
    for (const { file, usedBy, reason } of UNREACHABLE) {
      const refusal = `throw new Error(${JSON.stringify(reason)});`;
      const contents = usedBy === "load" ? refusal : `module.exports = () => { ${refusal} };`;
      const filter = new RegExp(`${escaped(join("/node_modules", file))}$`);
      build.onLoad({ filter }, () => ({ contents, loader: "js" }));
    }
  },
};

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
