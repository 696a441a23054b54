import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { version } from "../shared/version.ts";

const GIT_TIMEOUT_MS = 2_000;

/** Set by the bundler; empty if it did not know the commit. */
declare const BUILD_COMMIT: string;

/** The version, the commit and Node's version in one line, which begins with the version as a word. */
export async function versionLine(): Promise<string> {
  const commit =
    typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : await checkedOutCommit(import.meta.dirname);
  return `${version} (commit ${commit === "" ? "unknown" : commit}, Node ${process.versions.node})`;
}

/** The commit that is checked out in `directory`; an empty text without git or outside a repository. */
export async function checkedOutCommit(directory: string): Promise<string> {
  try {
    const options = { cwd: directory, timeout: GIT_TIMEOUT_MS };
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "--verify", "HEAD"], options);
    return stdout.trim();
  } catch {
    return "";
  }
}
