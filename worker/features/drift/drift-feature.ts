import { version } from "../../../shared/version.ts";
import { agentIdOf, hasMachine } from "../../machines/agent-id.ts";
import { heldSource } from "../../sources/held-queue.ts";
import type { FeatureDefinition, FeaturePart, FeatureServices, SharedConfig } from "../feature.ts";
import type { MachineNotice } from "../shared/facts.ts";
import { DRIFT_AGENT_ID } from "../shared/source-agent-ids.ts";
import { type DriftPart, driftSettings } from "./drift-settings.ts";

type Config = SharedConfig & DriftPart;

/**
 * Compares the inventory's machines with their desired states, and corrects machines whose entry allows it: the corrections
 * are actions.
 */
export const drift = {
  name: "drift",
  settings: driftSettings,
  isUsed: (config) => config.drift !== undefined,
  open: openDrift,
} satisfies FeatureDefinition<Config>;

async function openDrift(services: FeatureServices<Config>): Promise<readonly FeaturePart[]> {
  const { clock, config, control, log, offers } = services;
  const { inventory, reader } = services.machines;
  const { drift: settings, agentIdPattern } = config;
  if (!settings) return [];
  const { compareMachine } = await import("./compare-machine.ts");
  const { DriftWatch } = await import("./drift-watch.ts");
  const { Enforcer } = await import("./enforcer.ts");
  const { hasWorkflow, machineObjects } = offers;
  const notify = (notice: MachineNotice) => machineObjects?.notify(notice);
  const enforcer = new Enforcer({
    image: settings.image,
    version,
    quietMs: settings.quietTimeMs,
    clock,
    log,
    notify,
    hasWorkflow: (machine) => hasWorkflow?.(agentIdOf(agentIdPattern, machine)) ?? false,
    isPaused: (machine) => inventory.find(machine)?.paused !== undefined,
    namespaceOf: (machine) => machineObjects?.namespaceOf(machine),
  });
  const watch = new DriftWatch({
    compare: (machine, desired, signal) =>
      reader.useBmc(
        machine,
        (bmc, connection, redact) => compareMachine(bmc, connection, desired, redact, signal),
        signal,
      ),
    isOurs: (machine) => hasMachine(config, machine),
    onCompared: (machine) => control.observer.compared(machine),
    inventory,
    intervalMs: settings.intervalMs,
    notify,
    enforcer,
    clock,
    log,
  });
  const { queue } = enforcer;
  const source = heldSource(queue.held, queue, (action) => queue.cancelOf(action));
  return [
    { kind: "source", agentId: DRIFT_AGENT_ID, source },
    { kind: "observer", observer: watch.observer },
    { kind: "facts", worker: { machineDrift: (machine) => watch.find(machine) } },
    { kind: "task", run: (stop) => watch.run(stop) },
  ];
}
