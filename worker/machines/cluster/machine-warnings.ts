import { keyOf } from "../../cluster/client/kinds.ts";
import type { ClusterMachine, MachineIndex } from "./machine-index.ts";
import type { MachineWarning } from "./warning-log.ts";

export function machineWarnings({ byName, rejected }: MachineIndex): readonly MachineWarning[] {
  return [
    ...rejected.map((fields) => ({ kind: "left-out", ...fields }) as const),
    ...[...byName.values()].flatMap((found) => warningsOn(found)),
  ];
}

/** Why every action for the machine fails: its object and all problems. */
export function reasonOf(
  { object, at }: Pick<ClusterMachine, "object" | "at">,
  problems: readonly string[],
): string {
  return `${object} ${keyOf(at)}: ${problems.join("; ")}`;
}

function warningsOn(found: ClusterMachine): readonly MachineWarning[] {
  const { machine, object, at, isListed, content } = found;
  // Reported with the Hardware that names it.
  if (!isListed) return [];
  if (content.kind === "unusable") {
    return [{ kind: "unusable", machine: machine.name, reason: reasonOf(found, content.problems) }];
  }
  const { unknown: options } = content;
  return options
    ? [{ kind: "unknown-options", machine: machine.name, object: `${object} ${keyOf(at)}`, options }]
    : [];
}
