import { LABEL } from "./container-spec.ts";
import type { ListedContainer } from "./engine-schema.ts";

/** How long after its time another worker's container is nobody's: that worker would have stopped it. */
const ABANDONED_AFTER_MS = 60 * 60_000;

export interface Sweeper {
  /** The state directory's ID; absent for a worker that keeps no state and so owns nothing of before. */
  readonly state?: string;
  /** Of this process: what it launched itself is never a leftover. */
  readonly instance?: string;
  /** Keys of actions that will be adopted. */
  readonly keep: ReadonlySet<string>;
  readonly nowMs: number;
}

/**
 * Whether no worker will come back for a container: one of this worker's own, of a run before, that the journal does
 * not name; or another worker's, long after its time. A container without these labels is never taken.
 */
export function isLeftover({ Labels }: Pick<ListedContainer, "Labels">, sweeper: Sweeper): boolean {
  const labels = Labels ?? {};
  const key = labels[LABEL.key];
  const deadlineMs = Date.parse(labels[LABEL.deadline] ?? "");
  if (key === undefined || Number.isNaN(deadlineMs)) return false;
  if (sweeper.instance !== undefined && labels[LABEL.instance] === sweeper.instance) return false;
  if (sweeper.state !== undefined && labels[LABEL.state] === sweeper.state) return !sweeper.keep.has(key);
  return sweeper.nowMs > deadlineMs + ABANDONED_AFTER_MS;
}
