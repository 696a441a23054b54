import type { WorkflowMember } from "../core/action/action.ts";
import { climbs, isEngineSocket, judgeHostPath, WritableFolders } from "./host-path.ts";
import { cleanPath, isWithin } from "./path.ts";
import type { Policy, VolumeRule } from "./policy.ts";
import { reservedTarget } from "./reserved-target.ts";
import { isInNamespace } from "./tenant-rule.ts";

/** Whether a rule applies to an action's workflow. */
export function holdsFor({ namespaces }: VolumeRule, action: WorkflowMember): boolean {
  return namespaces === undefined || isInNamespace(action, namespaces);
}

/** Why an action must not mount a volume; undefined if it may. */
export function volumeProblem(volume: string, policy: Policy, action: WorkflowMember): string | undefined {
  const [source = "", target = "", options = "", ...more] = volume.split(":");
  if (more.length > 0 || target === "") return `${volume} is not source:target or source:target:options`;
  if (!source.startsWith("/")) return `${volume} is not allowed: only absolute host paths can be mounted`;
  if (!target.startsWith("/")) return `${volume} is not allowed: the target must be an absolute path`;
  if ([source, target].some(climbs)) return `${volume} is not allowed: a path must not contain ..`;
  const asked = options === "" ? ["rw"] : options.split(",");
  const strange = asked.find((option) => option !== "ro" && option !== "rw");
  if (strange !== undefined) return `${volume} is not allowed: the option ${strange} is none of ro, rw`;

  const verdict = judgeHostPath(
    source,
    policy.volumes.filter((rule) => holdsFor(rule, action)),
  );
  if (!verdict.listed) return `${volume} is not allowed`;
  const { openSocket, writable } = verdict;
  if (openSocket !== undefined) {
    return `${volume} is not allowed: it holds the container engine's socket ${openSocket}, which the policy does not list`;
  }
  if (!writable && !asked.every((option) => option === "ro")) {
    return `${volume} is not allowed: the path may only be mounted read-only, add :ro`;
  }
  // Folders of other namespaces count as well, because their actions may have created the link.
  const above = new WritableFolders(policy.volumes).above(source);
  if (above !== undefined) {
    return `${volume} is not allowed: actions may write in ${above}, so that a part of the path may be a link: mount ${above} itself, or list the folders in it with ${above}/*`;
  }
  return targetProblem(source, target, policy);
}

/**
 * Finds volumes that must not be mounted together. An action may have created a link in one volume's folder at the place of
 * the other's target, and the engine would follow it, for example to the program of the image.
 */
export function overlapProblems(volumes: readonly string[]): readonly string[] {
  const mounts = volumes
    .map((volume) => ({ volume, target: cleanPath(volume.split(":")[1] ?? "") }))
    // Sorting with the separator before every other character puts the content of a folder right after it.
    .toSorted((a, b) => compareText(a.target.replaceAll("/", "\0"), b.target.replaceAll("/", "\0")));
  let outer: (typeof mounts)[number] | undefined;
  const problems: string[] = [];
  for (const mount of mounts) {
    if (outer && isWithin(mount.target, outer.target)) {
      problems.push(`${mount.volume} is not allowed: its target is within that of ${outer.volume}`);
    } else outer = mount;
  }
  return problems;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function targetProblem(source: string, target: string, { volumeTargets }: Policy): string | undefined {
  const clean = cleanPath(target);
  const inPlace = clean === cleanPath(source);
  const shown = `the target ${target} is not allowed`;
  // This case was decided above: the policy lists this very socket.
  if (inPlace && isEngineSocket(clean)) return undefined;
  const reserved = reservedTarget(target);
  if (reserved !== undefined) return `${shown}: ${reserved} is reserved for the image and the system`;
  if (inPlace || volumeTargets.some((prefix) => isWithin(clean, cleanPath(prefix)))) return undefined;
  return `${shown}: mount below ${volumeTargets.join(" or ")}, or at the same path as on the host`;
}
