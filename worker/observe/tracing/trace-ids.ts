import { createHash } from "node:crypto";

/** The trace of one run of an action, and those of its spans that others join. */
export interface TraceIds {
  readonly traceId: string;
  readonly rootId: string;
  readonly runId: string;
}

/**
 * Made of the action's key and its start, which the journal keeps, and of nothing else: a worker that comes back goes on with
 * the same trace, and a workflow that is made anew has another one.
 */
export function traceIds(key: string, startedAt: Date): TraceIds {
  const hash = createHash("sha256").update(`${key}\0${startedAt.toISOString()}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48), runId: hash.slice(48, 64) };
}
