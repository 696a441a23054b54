import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { WorkerConfig } from "./config/worker-config.ts";
import { type Observer, observers, type SeenAction, type WorkerFacts } from "./observer.ts";

/** Everything by which an operator sees what the worker does. */
export interface Operating {
  readonly observer: Observer;
  /** Variables that join an action to its trace. */
  traceEnvironment(action: SeenAction): Readonly<Record<string, string>>;
  /** Begins to answer, for a worker that runs from now on. Rejects when an address that was asked for cannot be had. */
  serve(facts: WorkerFacts): Promise<void>;
  /** Writes what is still to be written, for a few seconds at most. Never rejects. */
  close(): Promise<void>;
}

export interface OperatingParts {
  readonly log: Logger;
  readonly clock: Clock;
}

/** Opens nothing that can fail; what needs a worker waits for `serve`. */
export function openOperating(
  _config: Pick<WorkerConfig, "http" | "actionLog">,
  { log }: OperatingParts,
): Operating {
  const complain = (thrown: unknown) =>
    log.error({ error: thrown instanceof Error ? thrown.message : String(thrown) }, "an onlooker stumbled");
  return {
    observer: observers([], complain),
    traceEnvironment: () => ({}),
    serve: async () => undefined,
    close: async () => undefined,
  };
}
