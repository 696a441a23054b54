import { setTimeout as sleep } from "node:timers/promises";

const SHORTEST_MS = 10;
const LONGEST_MS = 50;
/** The pause between two checks as a share of the time waited so far. */
const SHARE = 1 / 50;

/** Resolves when the condition is true. Checks less often the longer it takes. Rejects with `why` after `timeoutMs`. */
export async function until(condition: () => boolean, timeoutMs: number, why: () => string): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > timeoutMs) throw new Error(why());
    await sleep(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waitedMs * SHARE)));
  }
}

interface Board {
  all(): readonly { readonly id: string; readonly state: string }[];
}

/** Waits like `until`, and reports the state of a server's workflows if it fails. */
export function untilWorkflows(board: Board, condition: () => boolean, timeoutMs: number): Promise<void> {
  return until(condition, timeoutMs, () => {
    const states = board.all().map(({ id, state }) => `${id} ${state}`);
    return `not within ${timeoutMs} ms; the workflows are: ${states.join(", ") || "none"}`;
  });
}
