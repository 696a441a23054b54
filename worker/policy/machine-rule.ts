import { z } from "zod";
import { type LabelledMachine, LabelSelector } from "../document/labels.ts";
import { matchesName } from "./wildcard.ts";

/** The characters of machine names and Kubernetes namespaces. */
export const NAME_CHARACTERS = /^[a-z0-9.*-]+$/;

/** Machines of a rule: a name with wildcards, or a label selector. */
export const MachinePattern = z.union(
  [
    z.string().regex(NAME_CHARACTERS, {
      error: "must be a machine's name, in which * matches a part, such as rack-1-*",
    }),
    z.strictObject({ selector: LabelSelector }),
  ],
  { error: "must be a machine's name such as rack-1-*, or a selector such as {selector: rack=r12}" },
);
export type MachinePattern = z.infer<typeof MachinePattern>;

export function matchesMachine(pattern: MachinePattern, { name, labels }: LabelledMachine): boolean {
  return typeof pattern === "string" ? matchesName(pattern, name) : pattern.selector.matches(labels);
}

/** Whether a rule with these patterns is about the machine. */
export function isAmongMachines(machine: LabelledMachine, patterns: readonly MachinePattern[]): boolean {
  return patterns.some((pattern) => matchesMachine(pattern, machine));
}
