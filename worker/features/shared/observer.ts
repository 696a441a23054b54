import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { FileSeen } from "../../config/reload.ts";
import { type Observer, observerCaller, observers } from "../../core/action/observer.ts";

/** A call of PBnJ's API, apart from health and reflection. */
export interface ApiCallSeen {
  /** `OK`, or gRPC's name of the error. */
  readonly code: string;
}

/** A read of a machine's hardware by the worker itself. */
interface HardwareReadSeen {
  /** Why it failed. */
  readonly class?: ErrorClass;
}

/** Is told of each call. */
export interface ApiCallObserver {
  apiCall(call: ApiCallSeen): void;
}

/** Gets the events of the features, too. */
export interface WorkerObserver extends Observer {
  file?(file: FileSeen): void;
  apiCall?(call: ApiCallSeen): void;
  hardwareRead?(read: HardwareReadSeen): void;
  /** A machine was compared with its desired state, or is corrected, or not any more: see `WorkerFacts.machineDrift`. */
  compared?(machine: string): void;
}

export type WorkerObservers = Required<WorkerObserver>;

/** Combines observers as `observers` does. */
export function workerObservers(
  all: readonly WorkerObserver[],
  onFailure: (thrown: unknown) => void,
): WorkerObservers {
  const callAll = observerCaller(all, onFailure);
  return {
    ...observers(all, onFailure),
    file: (file) => callAll((one) => one.file?.(file)),
    apiCall: (call) => callAll((one) => one.apiCall?.(call)),
    hardwareRead: (read) => callAll((one) => one.hardwareRead?.(read)),
    compared: (machine) => callAll((one) => one.compared?.(machine)),
  };
}
