import type { Clock } from "../../../../shared/clock.ts";
import type { WorkerFacts } from "../../../core/action/observer.ts";
import type { Board } from "./board.ts";

export interface PageOptions {
  readonly board: Board;
  readonly facts: Pick<
    WorkerFacts,
    "machines" | "bmcAddress" | "machineOrigin" | "machineDrift" | "slots" | "unfinished" | "cluster"
  >;
  readonly clock: Clock;
  /** Start of the worker, on the monotonic clock. */
  readonly begunMs: number;
  readonly begunAt: Date;
}
