import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { climbs, judgeHostPath } from "./host-path.ts";
import type { VolumeRule } from "./policy.ts";

/**
 * Why an action without a container must not use a host file; undefined if it may. After following all links, the file must
 * be in a folder where volumes may be mounted read-write. This applies even to files that are only read, because their names
 * do not show that. Users who can change links between this check and the action's access must be trusted, as the policy's
 * example says.
 */
export async function fileProblem(path: string, rules: readonly VolumeRule[]): Promise<string | undefined> {
  if (!path.startsWith("/")) return "is not allowed: only absolute paths can be used";
  if (climbs(path)) return "is not allowed: a path must not contain ..";
  const problem = problemOf(path, rules);
  if (problem) return problem;
  const followed = await followLinks(resolve(path));
  if ("problem" in followed) return `is not allowed: ${followed.problem}`;
  return (
    problemOf(followed.path, await withoutLinks(rules)) && "is not allowed: a link leads out of the folder"
  );
}

function problemOf(path: string, rules: readonly VolumeRule[]): string | undefined {
  const verdict = judgeHostPath(path, rules);
  if (!verdict.listed) return "is not allowed: no volume may be mounted from there";
  if (verdict.openSocket !== undefined) return "is not allowed: it is the container engine's socket";
  return verdict.writable ? undefined : "is not allowed: the folder's access is not rw";
}

/** The rules with resolved paths. A path that cannot be resolved allows nothing. */
async function withoutLinks(rules: readonly VolumeRule[]): Promise<readonly VolumeRule[]> {
  const followed = rules.map(async (rule) => {
    const folder = await followLinks(rule.path);
    return "problem" in folder ? [] : [{ ...rule, path: folder.path }];
  });
  return (await Promise.all(followed)).flat();
}

type FollowedLinks = { readonly path: string } | { readonly problem: string };

/** Follows every link in the existing part of an absolute path. */
async function followLinks(path: string): Promise<FollowedLinks> {
  try {
    return { path: await realpath(path) };
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    if (code !== "ENOENT") return { problem: `its links cannot be followed (${code})` };
  }
  // Writing through a dangling link creates the file at its target.
  if (await isThere(path)) return { problem: "it is a link that leads nowhere" };
  const folder = await followLinks(dirname(path));
  return "problem" in folder ? folder : { path: join(folder.path, basename(path)) };
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
