import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe } from "vitest";
import { exclusively } from "../support/built-once.ts";
import { fromPython, provenWith } from "./compatibility/peer.ts";
import type { PeerName } from "./compatibility/peers.ts";

const INSTALL_MS = 300_000;

/** A Python of its own with some packages in it, and the programs they bring. */
export interface PythonPackages {
  readonly python: string;
  program(name: string): string;
}

/**
 * Installs packages (`name==version`) into a virtual environment in the user's cache, once: later runs find them
 * there. Rejects where there is no Python, no `venv` module or no package index. `withSystem`: the packages of Debian's Python
 * are there, too.
 */
export async function installPythonPackages(
  name: string,
  packages: readonly string[],
  { withSystem = false } = {},
): Promise<PythonPackages> {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const label = packages.map((spec) => spec.replace("==", "-")).join("_");
  const folder = join(cache, "pbnj-worker", "interop", `${name}_${label}`);
  const program = (file: string) => join(folder, "bin", file);
  // Written last: what was interrupted is made again.
  const complete = join(folder, "complete");
  // Several test files install the same packages at the same time.
  using _lock = await exclusively(`python-${name}`);
  if (!existsSync(complete)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const options = { timeout: INSTALL_MS, stdin: "ignore" } as const;
    const [python, ...more] = withSystem ? ["/usr/bin/python3", "--system-site-packages"] : ["python3"];
    await execa(python ?? "python3", ["-m", "venv", ...more, folder], options);
    await execa(program("pip"), ["install", "--quiet", ...packages], options);
    await writeFile(complete, "");
  }
  return { python: program("python"), program };
}

/**
 * Tests that need Python packages: run where these can be installed, skipped with a notice where they cannot,
 * and an error there when REQUIRE_INTEROP=1 says that they must be.
 */
export async function describeWithPython(
  packages: () => Promise<PythonPackages>,
  title: string,
  tests: (installed: PythonPackages) => void,
  /** Features of the packages that the tests prove, with their package. */
  proven: Readonly<Partial<Record<PeerName, string>>> = {},
): Promise<void> {
  let installed: PythonPackages;
  try {
    installed = await packages();
  } catch (cause) {
    if (process.env["REQUIRE_INTEROP"] === "1") {
      throw new Error(`REQUIRE_INTEROP=1, but the Python packages for "${title}" cannot be had`, { cause });
    }
    const [reason] = String(cause).split("\n");
    process.stderr.write(`skipped, its Python packages cannot be had: ${title}: ${reason}\n`);
    describe.skip(title, () => undefined);
    return;
  }
  const peers = Object.entries(proven).map(([name, distribution]) =>
    fromPython(name as PeerName, installed.python, distribution),
  );
  describe(title, provenWith(...peers), () => tests(installed));
}
