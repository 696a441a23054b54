import type { Change } from "../../kubernetes/client/watched-objects.ts";
import type { RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";

/** A part of Rufio's work. Receives the changes of each kind of object for which it has a method. */
export interface RufioController {
  jobChanged?(change: Change<RufioJob>): void;
  taskChanged?(change: Change<RufioTask>): void;
  machineChanged?(change: Change<RufioMachine>): void;
  /** Rechecks everything. Called when ownership has changed or all objects are listed. */
  recheckAll(): void;
  /** Runs until the signal aborts and nothing is in flight. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}
