/**
 * The ideal: how long a list schedule takes that has nothing to do but the actions. Each machine's actions follow
 * one another, those of different machines run beside each other on `slots` slots, and a slot that comes free takes
 * the action that has been ready longest. The worker prefers started workflows while many
 * actions wait, so that it can end a little later.
 */
export function idealMs(machines: number, actionsMs: readonly number[], slots: number): number {
  const freeAtMs = Array.from({ length: Math.min(slots, machines) }, () => 0);
  // By when they become ready: all machines at once in the beginning, then each after its action before.
  const waiting = Array.from({ length: machines }, () => ({ readyMs: 0, next: 0 }));
  let endMs = 0;
  while (waiting.length > 0) {
    const first = indexOfLeast(waiting.map(({ readyMs }) => readyMs));
    const [job] = waiting.splice(first, 1);
    const actionMs = job && actionsMs[job.next];
    if (job === undefined || actionMs === undefined) continue;
    const slot = indexOfLeast(freeAtMs);
    const endedMs = Math.max(job.readyMs, freeAtMs[slot] ?? 0) + actionMs;
    freeAtMs[slot] = endedMs;
    endMs = Math.max(endMs, endedMs);
    waiting.push({ readyMs: endedMs, next: job.next + 1 });
  }
  return endMs;
}

function indexOfLeast(values: readonly number[]): number {
  let least = 0;
  for (const [index, value] of values.entries()) if (value < (values[least] ?? 0)) least = index;
  return least;
}
