import { parseImageReference } from "../action/image-reference.ts";
import type { Catalogue } from "./catalogue.ts";
import { matchesAnyImage } from "./image-rule.ts";
import type { Policy } from "./policy.ts";

type TrustPolicy = Pick<Policy, "trustedImages">;

/** Whether an image receives its machine's BMC connection. */
export function isTrusted({ trustedImages = [] }: TrustPolicy, image: string): boolean {
  const reference = parseImageReference(image);
  return reference !== undefined && matchesAnyImage(trustedImages, reference);
}

/** The action of this project in a trusted image; undefined for other images. */
export function ownActionOf(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  return isTrusted(policy, image) ? actionNamed(catalogue, image) : undefined;
}

/** Why an image must not run: it has an action's name but would receive no BMC connection. */
export function trustProblem(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  if (isTrusted(policy, image) || actionNamed(catalogue, image) === undefined) return undefined;
  return `${image} is not trusted with BMC connections`;
}

/** Images are named after their action. */
function actionNamed(catalogue: Catalogue, image: string): string | undefined {
  const name = parseImageReference(image)?.name;
  return name !== undefined && catalogue.names().includes(name) ? name : undefined;
}
