import { join } from "node:path";
import type { Plugin } from "esbuild";

/** A module that is imported and never used, of which a bundle gets a refusal only. */
interface UnreachableModule {
  /** Below `node_modules`. */
  readonly file: string;
  /** Where it would be used: when it is loaded, or when what it exports is called. */
  readonly usedBy: "load" | "call";
  /** Why nothing gets there, for whoever does. */
  readonly reason: string;
}

const UNREACHABLE: readonly UnreachableModule[] = [
  {
    // The HTTP parser a second time, for engines whose WebAssembly has no SIMD.
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

/** What undici looks up before it takes the parser without SIMD. */
const PARSER_SWITCHES = ["process.env.JEST_WORKER_ID", "process.env.UNDICI_NO_WASM_SIMD"];

/**
 * Leaves out of an action's bundle what no action reaches, and with it what only that imports. For the images, which
 * run Node 24 on amd64 and arm64; were a module used after all, its reason would be thrown there.
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
