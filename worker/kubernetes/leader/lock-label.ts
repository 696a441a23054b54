import { createHash } from "node:crypto";

/** The label of a Job with a hash of its BMC's lock key, which itself is too long for a label. */
export const LOCK_LABEL = "pbnj-worker/bmc";

/**
 * The label of a Job that each create request and each new leader sets anew, so that a late request of an earlier leader cannot
 * start the Job.
 */
export const LAUNCH_LABEL = "pbnj-worker/launch";
/** The path of `LAUNCH_LABEL` in a JSON Patch, where `~1` stands for a slash in a name (RFC 6901). */
export const LAUNCH_PATH = `/metadata/labels/${LAUNCH_LABEL.replaceAll("/", "~1")}`;

export function lockLabelOf(lockKey: string): string {
  return createHash("sha256").update(lockKey).digest("hex").slice(0, 40);
}
