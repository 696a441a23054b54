import { execa } from "execa";

export interface Commit {
  readonly id: string;
  /** RFC 3339, with the committer's offset. */
  readonly date: string;
}

/** The checked out commit; undefined outside a repository and before its first commit. */
export async function headCommit(directory: string): Promise<Commit | undefined> {
  const said = await git(directory, ["log", "-1", "--format=%H %cI"]);
  const [id, date] = said?.split(" ") ?? [];
  return id && date ? { id, date } : undefined;
}

/** The files that differ from the commit, including untracked ones, from `git status`. */
export async function changedFiles(directory: string): Promise<readonly string[]> {
  const said = await git(directory, ["status", "--porcelain"]);
  return said?.split("\n").filter((line) => line !== "") ?? [];
}

/** The commit of a tag; undefined if there is no such tag. */
export async function taggedCommit(directory: string, tag: string): Promise<string | undefined> {
  return git(directory, ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}^{commit}`]);
}

async function git(directory: string, args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await execa("git", args, { cwd: directory, reject: false, timeout: 30_000 });
  return exitCode === 0 ? stdout : undefined;
}
