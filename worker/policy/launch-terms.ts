import { defined } from "../../shared/defined.ts";
import { parseImageReference } from "../action/image-reference.ts";
import type { LaunchTerms } from "../runtime/runtime.ts";
import { matchesAnyImage } from "./image-rule.ts";
import type { ContainerRule, Policy } from "./policy.ts";

/** On what terms the policy lets an image run; what it does not say is the runtime's to know. */
export function launchTerms(policy: Pick<Policy, "containers" | "privileged">, image: string): LaunchTerms {
  const { pull, memory, cpus, pids } = containerRuleFor(policy, image) ?? {};
  return {
    ...defined({ pull, memoryBytes: memory, cpus, pids }),
    ...(isPrivileged(policy, image) ? { privileged: true } : {}),
  };
}

/** The first that fits. */
export function containerRuleFor(
  { containers }: Pick<Policy, "containers">,
  image: string,
): ContainerRule | undefined {
  const reference = parseImageReference(image);
  return reference && containers.find(({ images }) => matchesAnyImage(images, reference));
}

/** An image without its digest is not the one that the policy names, whatever its tag leads to now. */
function isPrivileged({ privileged }: Pick<Policy, "privileged">, image: string): boolean {
  const reference = parseImageReference(image);
  return reference?.digest !== undefined && matchesAnyImage(privileged, reference);
}
