import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Observer } from "../action/observer.ts";
import { HardwareStore } from "../hardware/hardware-store.ts";
import { MachineReader, type MachineReaderOptions } from "../hardware/machine-reader.ts";
import { machineNameOf } from "../machines/agent-id.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { Policy } from "../policy/policy.ts";
import { isTrusted } from "../policy/trust-rule.ts";
import type { AgentHardware } from "../source/tink/tink-transport.ts";

export interface HardwareOptions extends Omit<MachineReaderOptions, "actions"> {
  readonly library: MachineReaderOptions["actions"];
  readonly policy: () => Policy;
  readonly maxAgeMs: number;
  readonly observer: Observer | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The hardware of the worker's machines. Reads nothing yet. */
export function composeHardware({
  library: actions,
  policy,
  maxAgeMs,
  observer,
  clock,
  log,
  ...machines
}: HardwareOptions): HardwareStore {
  return new HardwareStore({
    reader: new MachineReader({ ...machines, actions }),
    maxAgeMs,
    isTrusted: (image) => isTrusted(policy(), image),
    onRead: (errorClass) => observer?.hardwareRead(defined({ class: errorClass })),
    clock,
    log,
  });
}

/** The hardware of the machine that an agent ID names. */
export function agentHardware(store: HardwareStore, inventory: Inventory, pattern: string): AgentHardware {
  const machineOf = (agentId: string) => {
    const name = machineNameOf(pattern, agentId);
    return name === undefined ? undefined : inventory.find(name);
  };
  return {
    of(agentId) {
      const machine = machineOf(agentId);
      return machine && store.find(machine)?.hardware;
    },
    awaited(agentId) {
      const machine = machineOf(agentId);
      return machine && store.awaited(machine.name);
    },
  };
}
