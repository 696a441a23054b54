import { createHash } from "node:crypto";

/** On a Job: a hash of the BMC's lock key, which is too long for a label. */
export const LOCK_LABEL = "pbnj-worker/bmc";

/** On a Job: changes with each create request and with each leader, so that a late request of an earlier leader cannot start the Job. */
export const LAUNCH_LABEL = "pbnj-worker/launch";
/** The path of `LAUNCH_LABEL` in a JSON Patch (RFC 6901: a slash within a name is `~1`). */
export const LAUNCH_PATH = `/metadata/labels/${LAUNCH_LABEL.replaceAll("/", "~1")}`;

export function lockLabelOf(lockKey: string): string {
  return createHash("sha256").update(lockKey).digest("hex").slice(0, 40);
}
