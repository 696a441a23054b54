import type { ActionId } from "../action/action.ts";
import { climbs, judgeHostPath } from "./host-path.ts";
import type { VolumeRule } from "./policy.ts";
import { isInNamespace } from "./tenant-rule.ts";

/** Whether a rule applies to an action's workflow. */
export function holdsFor({ namespaces }: VolumeRule, action: Pick<ActionId, "workflowId">): boolean {
  return namespaces === undefined || isInNamespace(action, namespaces);
}

/** Why an action must not mount a volume; undefined if it may. */
export function volumeProblem(volume: string, rules: readonly VolumeRule[]): string | undefined {
  const [source = "", target = "", options = "", ...more] = volume.split(":");
  if (more.length > 0 || target === "") return `${volume} is not source:target or source:target:options`;
  if (!source.startsWith("/")) return `${volume} is not allowed: only absolute host paths can be mounted`;
  if (!target.startsWith("/")) return `${volume} is not allowed: the target must be an absolute path`;
  if ([source, target].some(climbs)) return `${volume} is not allowed: a path must not contain ..`;
  const asked = options === "" ? ["rw"] : options.split(",");
  const strange = asked.find((option) => option !== "ro" && option !== "rw");
  if (strange !== undefined) return `${volume} is not allowed: the option ${strange} is none of ro, rw`;

  const verdict = judgeHostPath(source, rules);
  if (!verdict.listed) return `${volume} is not allowed`;
  const { openSocket, writable } = verdict;
  if (openSocket !== undefined) {
    return `${volume} is not allowed: it holds the container engine's socket ${openSocket}, which the policy does not list`;
  }
  if (!writable && !asked.every((option) => option === "ro")) {
    return `${volume} is not allowed: the path may only be mounted read-only, add :ro`;
  }
  return undefined;
}
