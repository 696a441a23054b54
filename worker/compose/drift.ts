import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { version } from "../../shared/version.ts";
import type { MachineNotice } from "../action/machine-notice.ts";
import { DRIFT_AGENT_ID } from "../action/source-agent-ids.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { compareMachine } from "../drift/compare-machine.ts";
import { DriftWatch } from "../drift/drift-watch.ts";
import { Enforcer } from "../drift/enforcer.ts";
import { MachineReader, type MachineReaderOptions } from "../hardware/machine-reader.ts";
import { agentIdOf } from "../machines/agent-id.ts";
import { type ClusterServices, hasMachine } from "./cluster-services.ts";
import { withSource } from "./with-source.ts";

export interface DriftOptions extends Omit<MachineReaderOptions, "actions" | "inventory" | "locks"> {
  readonly library: MachineReaderOptions["actions"];
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes each machine that was compared, or whose corrections changed. Must not throw. */
  readonly onCompared: (machine: string) => void;
}

/**
 * Compares the inventory's machines with their desired states, and corrects those whose entry says so: the corrections are another
 * source of actions. Undefined if the settings do not ask for it.
 */
export function composeDrift(
  { drift: settings, agentIdPattern, shard }: Pick<WorkerConfig, "agentIdPattern" | "drift" | "shard">,
  services: ClusterServices,
  { library: actions, clock, log, onCompared, ...reading }: DriftOptions,
) {
  if (!settings) return undefined;
  const { inventory, locks } = services;
  const reader = new MachineReader({ ...reading, inventory, locks, actions });
  const agentId = (machine: string) => agentIdOf(agentIdPattern, machine);
  const isOurs = (machine: string) => hasMachine({ agentIdPattern, ...defined({ shard }) }, machine);
  const notify = (notice: MachineNotice) => services.notify?.(notice);
  const enforcer = new Enforcer({
    ...{ image: settings.image, version, quietMs: settings.quietTimeMs, clock, log, notify },
    hasWorkflow: (machine) => services.hasWorkflow?.(agentId(machine)) ?? false,
    namespaceOf: (machine) => services.machineNamespace?.(machine),
  });
  const watch = new DriftWatch({
    compare: (machine, desired, signal) =>
      reader.useBmc(
        machine,
        (bmc, connection, redact) => compareMachine(bmc, connection, desired, redact, signal),
        signal,
      ),
    ...{ inventory, isOurs, intervalMs: settings.intervalMs, notify, enforcer, onCompared, clock, log },
  });
  const { queue } = enforcer;
  const source = {
    ...{ agentId: DRIFT_AGENT_ID, source: queue.held, sink: queue, observer: watch.observer },
    cancelOf: queue.cancelOf.bind(queue),
    run: (stop: AbortSignal) => watch.run(stop),
    close: () => reader.close(),
  };
  return { watch, services: withSource(services, source, log) };
}
