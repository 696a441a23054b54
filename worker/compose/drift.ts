import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { MachineNotice } from "../action/machine-notice.ts";
import { compareMachine } from "../drift/compare-machine.ts";
import { DriftWatch } from "../drift/drift-watch.ts";
import { MachineReader, type MachineReaderOptions } from "../hardware/machine-reader.ts";

export interface DriftOptions extends Omit<MachineReaderOptions, "actions"> {
  readonly library: MachineReaderOptions["actions"];
  readonly isOurs: (machine: string) => boolean;
  readonly intervalMs: number;
  readonly notify: (notice: MachineNotice) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Compares the inventory's machines with their desired states. Reads nothing yet. */
export function composeDrift({
  library: actions,
  isOurs,
  intervalMs,
  notify,
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
    ...{ isOurs, intervalMs, notify, clock, log },
  });
}
