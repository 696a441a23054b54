import type { Problem } from "../../shared/document/problem.ts";
import type { Policy } from "./policy.ts";

/** The rules of a policy that a runtime without containers cannot enforce. */
export function unenforced(policy: Policy, runtime: string): readonly Problem[] {
  if (runtime === "docker" || runtime === "kubernetes") return [];
  const rules: readonly (readonly [keyof Policy, boolean, string])[] = [
    [
      "digestOnly",
      policy.digestOnly !== false,
      "looks at the name of an image only and runs its own action of that name",
    ],
    ["containers", policy.containers.length > 0, "pulls no images and sets no limits"],
    ["privileged", policy.privileged.length > 0, "has no containers"],
  ];
  return rules
    .filter(([, given]) => given)
    .map(([rule, , does]) => ({
      source: `policy ${rule}`,
      message: `has no effect: the ${runtime} runtime ${does}`,
    }));
}
