import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "vitest";

/**
 * Tests that need an independent program: run where it is installed, skipped with a notice where it is not,
 * and an error there when REQUIRE_INTEROP=1 says that it must be.
 */
export function describeWithProgram(program: string, title: string, tests: () => void): void {
  if (findProgram(program) !== undefined) {
    describe(title, tests);
    return;
  }
  if (process.env["REQUIRE_INTEROP"] === "1") {
    throw new Error(`REQUIRE_INTEROP=1, but ${program} is not installed`);
  }
  process.stderr.write(`skipped, ${program} is not installed: ${title}\n`);
  describe.skip(title, tests);
}

/** Its path; undefined where it is not installed. Debian keeps some in directories that users do not search. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
