import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compileCacheDirectory } from "../../cli/compile-cache.ts";

const bundle = "/usr/lib/node_modules/pbnj-worker/dist/pbnj-worker.mjs";

it.each([
  ["beside the dependencies of the sources", "/src/cli/main.ts", {}, "/src/node_modules/.cache/pbnj-worker"],
  ["in the user's cache", bundle, { XDG_CACHE_HOME: "/home/u/cache" }, "/home/u/cache/pbnj-worker"],
  ["in the user's home", bundle, {}, join(homedir(), ".cache/pbnj-worker")],
  ["in no relative folder", bundle, { XDG_CACHE_HOME: "cache" }, join(homedir(), ".cache/pbnj-worker")],
  ["where Node was told to", bundle, { NODE_COMPILE_CACHE: "/var/cache/x" }, "/var/cache/x"],
])("compiled code is kept %s", (_, file, env, expected) => {
  expect(compileCacheDirectory(file, env)).toBe(expected);
});
