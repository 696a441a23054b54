import { createHash } from "node:crypto";

/** On a Job: a hash of the BMC's lock key, which is too long for a label. */
export const LOCK_LABEL = "pbnj-worker/bmc";

/** On a Job: changes with each create request and with each leader, so that a late request of an earlier leader cannot start the Job. */
export const LAUNCH_LABEL = "pbnj-worker/launch";

export function lockLabelOf(lockKey: string): string {
  return createHash("sha256").update(lockKey).digest("hex").slice(0, 40);
}
