/** The part of the global object that Node's types lack. */
interface WasmGlobal {
  readonly WebAssembly: { Module: new (bytes: Uint8Array) => object };
}

/** V8's default of `--wasm-tiering-budget`. */
const DEFAULT_BUDGET = 13_000_000;
const ENDLESS_BUDGET = 1_000_000_000;

/**
 * V8 would compile undici's HTTP parser again, optimized, after a few hundred bytes, and a process that ends has to wait for
 * that: 45 ms of processor time. For a process that runs one action. Other flags keep their values when the module is loaded, because
 * V8's caches are bound to them.
 */
export function compileWasmOnce(): void {
  const { WebAssembly: wasm } = globalThis as unknown as WasmGlobal;
  const { Module } = wasm;
  wasm.Module = class extends Module {
    constructor(bytes: Uint8Array) {
      const { setFlagsFromString } = process.getBuiltinModule("node:v8");
      setFlagsFromString(`--wasm-tiering-budget=${ENDLESS_BUDGET}`);
      super(bytes);
      setFlagsFromString(`--wasm-tiering-budget=${DEFAULT_BUDGET}`);
    }
  };
}
