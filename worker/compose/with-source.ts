import type { Logger } from "../../shared/logger.ts";
import type { ActionId } from "../action/action.ts";
import { type Observer, observers } from "../action/observer.ts";
import type { Waking } from "../action/waking.ts";
import type { LaneControl } from "../lanes/worker.ts";
import type { ActionSource, StatusSink } from "../source/source.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { logFailure } from "./observability.ts";

/** A source of actions inside the worker, with an agent ID of its own. */
export interface OwnSource {
  readonly agentId: string;
  readonly source: ActionSource & Waking;
  readonly sink: StatusSink;
  readonly observer: Partial<Observer>;
  cancelOf(action: ActionId): AbortSignal | undefined;
  /** Opens what can fail. Rejects with one line. */
  open?(): Promise<void>;
  /** Runs until the signal aborts. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
  close?(): Promise<void>;
}

/** The services of a worker with another source of actions. */
export function withSource(services: ClusterServices, own: OwnSource, log: Logger): ClusterServices {
  const { agentId: ownId, source, sink } = own;
  return {
    inventory: services.inventory,
    locks: services.locks,
    observer: observers([services.observer, own.observer], logFailure(log)),
    agentIds: () => [...services.agentIds(), ownId],
    sourceOf: (agentId) => (agentId === ownId ? source : services.sourceOf(agentId)),
    sinkOf: (action) => (action.agentId === ownId ? sink : services.sinkOf(action)),
    wakingOf: (agentId) => (agentId === ownId ? source : services.wakingOf(agentId)),
    cancelOf: (action) => (action.agentId === ownId ? own.cancelOf(action) : services.cancelOf(action)),
    seesDeletion: (action) => services.seesDeletion?.(action) ?? false,
    hasWorkflow: (agentId) => services.hasWorkflow?.(agentId) ?? false,
    machineNamespace: (machine) => services.machineNamespace?.(machine),
    notify: (notice) => services.notify?.(notice),
    ready: (stop) => services.ready(stop),
    async open() {
      await services.open?.();
      await own.open?.();
    },
    async run(lanes, stop) {
      // The services know only their own agent IDs.
      const others: LaneControl = {
        setAgentIds: (agentIds) => lanes.setAgentIds([...agentIds, ownId]),
      };
      await Promise.all([services.run(others, stop), own.run(stop)]);
    },
    async close() {
      await own.close?.();
      await services.close();
    },
  };
}
