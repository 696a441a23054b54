import type { Outcome } from "../../../core/action/action.ts";
import type { TaskRecord } from "./task-record.ts";

export type TaskEnd = NonNullable<TaskRecord["end"]>;

/** How a task ended; the outcome only if this worker saw it. */
export interface EndedTask {
  readonly end: TaskEnd;
  readonly outcome: Outcome | undefined;
}

/** The calls that wait for the end of a task, by its ID. */
export class TaskWaiters {
  readonly #waiting = new Map<string, Set<(ended: EndedTask) => void>>();

  /** Rejects with the signal's reason. */
  async wait(id: string, signal: AbortSignal): Promise<EndedTask> {
    const { promise, resolve, reject } = Promise.withResolvers<EndedTask>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(resolve));
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(id);
    }
  }

  ended(id: string, ended: EndedTask): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve(ended);
  }
}
