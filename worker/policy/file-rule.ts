import { resolve } from "node:path";
import { followLinks } from "./follow-links.ts";
import { climbs, judgeHostPath } from "./host-path.ts";
import type { VolumeRule } from "./policy.ts";

/**
 * Why an action that runs without a container must not use a file of the host; undefined when it may: the file
 * lies, also behind all links, where volumes may be mounted read-write. Files that are only read are no exception,
 * because a name does not tell which those are. Looks at the links that are there now: whoever may change them
 * between this look and the action's own must be trusted, as the policy's example says.
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

/** The rules with the folders that their paths lead to; what cannot be followed allows nothing. */
async function withoutLinks(rules: readonly VolumeRule[]): Promise<readonly VolumeRule[]> {
  const followed = rules.map(async (rule) => {
    const folder = await followLinks(rule.path);
    return "problem" in folder ? [] : [{ ...rule, path: folder.path }];
  });
  return (await Promise.all(followed)).flat();
}
