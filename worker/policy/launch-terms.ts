import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { defined } from "../../shared/defined.ts";
import type { LaunchTerms } from "../core/ports/runtime.ts";
import { matchesAnyImage } from "./image-rule.ts";
import type { ContainerRule, Policy } from "./policy.ts";

/** What the policy says about how an image runs; the runtime's settings fill in the rest. */
export function launchTerms(policy: Pick<Policy, "containers" | "privileged">, image: string): LaunchTerms {
  const { pull, memory, cpus, pids } = containerRuleFor(policy, image) ?? {};
  const privileged = isPrivileged(policy, image) || undefined;
  return defined({ pull, memoryBytes: memory, cpus, pids, privileged });
}

/** The first match. */
export function containerRuleFor(
  { containers }: Pick<Policy, "containers">,
  image: string,
): ContainerRule | undefined {
  const reference = parseImageReference(image);
  return reference && containers.find(({ images }) => matchesAnyImage(images, reference));
}

/** Only a digest identifies the image that the policy names: a tag can be moved. */
function isPrivileged({ privileged }: Pick<Policy, "privileged">, image: string): boolean {
  const reference = parseImageReference(image);
  return reference?.digest !== undefined && matchesAnyImage(privileged, reference);
}
