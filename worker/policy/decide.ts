import type { Action } from "../action.ts";
import { fileProblem } from "./file-rule.ts";
import { imageProblem } from "./image-rule.ts";
import type { Policy } from "./policy.ts";
import { volumeProblem } from "./volume-rule.ts";
import { matchesWildcard } from "./wildcard.ts";

export type PolicyRule = keyof Policy;

export type Decision =
  | { readonly allowed: true }
  /** `reason` is one line that names the rule, such as `policy volumes: /etc:/host is not allowed`. */
  | { readonly allowed: false; readonly rule: PolicyRule; readonly reason: string };

/** Whether an action may run under a policy; the first rule it breaks says no. */
export function decide(
  policy: Policy,
  action: Pick<Action, "environment" | "image" | "networkNamespace" | "pidNamespace" | "volumes">,
): Decision {
  const image = imageProblem(action.image, policy);
  if (image) return denied(image.rule, image.message);
  for (const volume of action.volumes) {
    const problem = volumeProblem(volume, policy.volumes);
    if (problem) return denied("volumes", problem);
  }
  if (action.networkNamespace && !policy.networkNamespaces.includes(action.networkNamespace)) {
    return denied("networkNamespaces", `${action.networkNamespace} is not allowed`);
  }
  if (action.pidNamespace && !policy.pidNamespaces.includes(action.pidNamespace)) {
    return denied("pidNamespaces", `${action.pidNamespace} is not allowed`);
  }
  const variable = Object.keys(action.environment).find((name) =>
    policy.environmentDenied.some((pattern) => matchesWildcard(pattern, name)),
  );
  if (variable !== undefined) return denied("environmentDenied", `${variable} must not be set`);
  return { allowed: true };
}

/**
 * Whether an action that runs without a container may use a file of the host, which it was told to in `name`, a
 * variable or flag. In a container the same path is the container's own, and volumes decide what it is.
 */
export async function decideFile(
  { volumes }: Pick<Policy, "volumes">,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<Decision> {
  const problem = await fileProblem(path, volumes);
  return problem ? denied("volumes", `${name} ${path} ${problem}`) : { allowed: true };
}

function denied(rule: PolicyRule, message: string): Decision {
  return { allowed: false, rule, reason: `policy ${rule}: ${message}` };
}
