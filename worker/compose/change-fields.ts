import type { LogFields } from "../../shared/logger.ts";
import type { LaneChanges } from "../lanes/worker.ts";
import type { MachineChanges } from "../machines/cluster/cluster-inventory.ts";

/** A log line has at most so many names. */
const MOST_NAMES = 20;

export function machineFields({ added, removed }: MachineChanges): LogFields {
  return { machinesAdded: shortened(added), machinesRemoved: shortened(removed) };
}

export function laneFields({ added, removed }: LaneChanges): LogFields {
  return { lanesAdded: shortened(added), lanesRemoved: shortened(removed) };
}

function shortened(names: readonly string[]): readonly string[] {
  return names.length <= MOST_NAMES
    ? names
    : [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`];
}
