import { createHash } from "node:crypto";

/** On a Job: a hash of the BMC's lock key, which is too long for a label. */
export const LOCK_LABEL = "pbnj-worker/bmc";

export function lockLabelOf(lockKey: string): string {
  return createHash("sha256").update(lockKey).digest("hex").slice(0, 40);
}
