import type { Clock } from "../../../../shared/clock.ts";
import type { WorkerFacts } from "../../../action/observer.ts";
import type { Board } from "./board.ts";

/** Everything pages are made of. */
export interface PageOptions {
  readonly board: Board;
  readonly facts: Pick<WorkerFacts, "machines" | "slots" | "unfinished">;
  readonly clock: Clock;
  /** When the worker began, on the clock that never goes backwards. */
  readonly begunMs: number;
  readonly begunAt: Date;
}
