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
  readonly class?: ErrorClass | undefined;
}

/** Called for each call of PBnJ's API. */
export interface ApiCallObserver {
  apiCall(call: ApiCallSeen): void;
}

/** Receives the events of the features as well. */
export interface WorkerObserver extends Observer {
  file?(file: FileSeen): void;
  apiCall?(call: ApiCallSeen): void;
  hardwareRead?(read: HardwareReadSeen): void;
  /** A machine was compared with its desired state, or its correction began or ended: see `WorkerFacts.machineDrift`. */
  compared?(machine: string): void;
}

export type WorkerObservers = Required<WorkerObserver>;

/** Combines observers like `observers`. */
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
