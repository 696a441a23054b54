import { createHash } from "node:crypto";

/** The IDs of one run's trace and of the spans that others refer to. */
export interface TraceIds {
  readonly traceId: string;
  readonly rootId: string;
  readonly runId: string;
}

/**
 * Derived from the action's key and start, which the journal keeps, so that an adopting worker continues the same trace and
 * a workflow that is created again gets another one.
 */
export function traceIds(key: string, startedAt: Date): TraceIds {
  const hash = createHash("sha256").update(`${key}\0${startedAt.toISOString()}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48), runId: hash.slice(48, 64) };
}
