import { isOrphan, ownerLabels, type SweepOptions } from "../orphan.ts";
import type { ListedContainer } from "./engine-schema.ts";
import { LABEL } from "./spec.ts";

export function isOrphanContainer(
  { Labels }: Pick<ListedContainer, "Labels">,
  options: SweepOptions & {
    readonly instance?: string | undefined;
  },
): boolean {
  const labels = Labels ?? {};
  if (options.instance !== undefined && labels[LABEL.instance] === options.instance) return false;
  return isOrphan(ownerLabels(labels, LABEL), options);
}
