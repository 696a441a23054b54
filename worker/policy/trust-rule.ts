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

/** The action of this project that a trusted image is; undefined for any other image. */
export function ownActionOf(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  return isTrusted(policy, image) ? actionNamed(catalogue, image) : undefined;
}

/** Why an image must not run: it carries an action's name, and the action could not reach a BMC. */
export function trustProblem(policy: TrustPolicy, catalogue: Catalogue, image: string): string | undefined {
  if (isTrusted(policy, image) || actionNamed(catalogue, image) === undefined) return undefined;
  return `${image} is not trusted with BMC connections`;
}

/** An image is named after its action. */
function actionNamed(catalogue: Catalogue, image: string): string | undefined {
  const name = parseImageReference(image)?.name;
  return name !== undefined && catalogue.names().includes(name) ? name : undefined;
}
