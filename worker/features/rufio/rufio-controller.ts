import type { Change } from "../../kubernetes/client/watched-objects.ts";
import type { RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";

/** A part of Rufio's work. Gets the changes of the objects that it has a method for. */
export interface RufioController {
  jobChanged?(change: Change<RufioJob>): void;
  taskChanged?(change: Change<RufioTask>): void;
  machineChanged?(change: Change<RufioMachine>): void;
  /** Rechecks everything, because ownership has changed or all objects are listed. */
  recheckAll(): void;
  /** Runs until the signal aborts and nothing is in flight. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}
