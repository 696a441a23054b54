import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { compareMachine } from "../drift/compare-machine.ts";
import { DriftWatch } from "../drift/drift-watch.ts";
import { MachineReader, type MachineReaderOptions } from "../hardware/machine-reader.ts";

export interface DriftOptions extends Omit<MachineReaderOptions, "actions"> {
  readonly library: MachineReaderOptions["actions"];
  readonly isOurs: (machine: string) => boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Compares the inventory's machines with their desired states. Reads nothing yet. */
export function composeDrift({
  library: actions,
  isOurs,
  intervalMs,
  clock,
  log,
  ...machines
}: DriftOptions): DriftWatch {
  const reader = new MachineReader({ ...machines, actions });
  return new DriftWatch({
    compare: (machine, desired, signal) =>
      reader.useBmc(
        machine,
        (bmc, connection, redact) => compareMachine(bmc, connection, desired, redact, signal),
        signal,
      ),
    inventory: machines.inventory,
    ...{ isOurs, intervalMs, clock, log },
  });
}
