import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { defined } from "../../shared/defined.ts";
import type { LaunchTerms } from "../core/ports/runtime.ts";
import { matchesAnyImage } from "./image-rule.ts";
import type { ContainerRule, Policy } from "./policy.ts";

/** The policy's terms for running an image. The runtime's settings fill in the rest. */
export function launchTerms(policy: Policy, image: string): LaunchTerms {
  const { pull, memory, cpus, pids } = containerRuleFor(policy, image) ?? {};
  const privileged = isPrivileged(policy, image) || undefined;
  return defined({ pull, memoryBytes: memory, cpus, pids, privileged });
}

/** The first rule that matches an image. */
export function containerRuleFor({ containers }: Policy, image: string): ContainerRule | undefined {
  const reference = parseImageReference(image);
  return reference && containers.find(({ images }) => matchesAnyImage(images, reference));
}

/** Whether an image runs privileged. Only a digest identifies the image that the policy names, because a tag can be moved. */
function isPrivileged({ privileged }: Policy, image: string): boolean {
  const reference = parseImageReference(image);
  return reference?.digest !== undefined && matchesAnyImage(privileged, reference);
}
