import { isOrphan, ownerLabels, type SweepOptions } from "../orphan.ts";
import { ANNOTATION, LABEL } from "./job-labels.ts";
import type { ObservedJob } from "./job-objects.ts";

/** How long a Job is kept after its report was acknowledged: caches may still serve its action. */
export const ACKNOWLEDGED_TTL_SECONDS = 600;
/** A controller that deletes such Jobs does so within this time. */
const CONTROLLER_SLACK_MS = 60_000;

/**
 * Whether the report of a Job's action was acknowledged to this worker, which then died before it marked the Job. A Job
 * that still runs may be another launch.
 */
export function isUnacknowledged(
  { labels, end }: ObservedJob,
  { owner, keep }: Pick<SweepOptions, "keep"> & { readonly owner: string },
): boolean {
  if (!end || labels[LABEL.owner] !== owner || labels[ANNOTATION.acknowledged] !== undefined) return false;
  return keep(labels[LABEL.key] ?? "") === "settled";
}

/** Whether no worker will adopt a Job that `SELECTOR` found. */
export function isOrphanJob(
  { labels, end }: ObservedJob,
  options: SweepOptions & { readonly owner: string },
): boolean {
  const acknowledgedMs = Date.parse(labels[ANNOTATION.acknowledged] ?? "");
  if (labels[LABEL.owner] === options.owner && !Number.isNaN(acknowledgedMs)) {
    return options.nowMs - acknowledgedMs > ACKNOWLEDGED_TTL_SECONDS * 1_000 + CONTROLLER_SLACK_MS;
  }
  return isOrphan(ownerLabels(labels, { ...LABEL, state: LABEL.owner }), options, end !== undefined);
}
