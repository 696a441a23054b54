import { z } from "zod";

/** A time as the hosts' own clocks tell it: milliseconds since the epoch. All of them run on one machine. */
const At = z.number();

/** One end of an action, as the server took it. */
const ReportedEnd = z.object({ at: At, state: z.string(), message: z.string() });

/** What the server knows of one action. */
export const ActionRecord = z.object({
  workflow: z.string(),
  /** Its place in the workflow, from 0. */
  index: z.int(),
  agentId: z.string(),
  machine: z.string(),
  /** The action of the catalogue. */
  name: z.string(),
  environment: z.record(z.string(), z.string()),
  /** Every report of its start that was taken. */
  startedAt: z.array(At),
  /** Every report of its end that was taken. */
  ends: z.array(ReportedEnd),
  /** When the server lost the workflow with its database. */
  forgottenAt: At.optional(),
  /** Whether the server's database forgot the end, so that it served the action again. */
  undone: z.boolean().optional(),
});
export type ActionRecord = z.infer<typeof ActionRecord>;

export const WorkflowRecord = z.object({ name: z.string(), state: z.string() });
export type WorkflowRecord = z.infer<typeof WorkflowRecord>;

const PowerCommandName = z.enum(["on", "off", "soft-off", "cycle", "reset", "nmi"]);
export type PowerCommandName = z.infer<typeof PowerCommandName>;

/** What really happened at one machine. Histories begin with the state at the start. */
export const MachineRecord = z.object({
  name: z.string(),
  /** Power commands that were carried out. */
  commands: z.array(z.object({ at: At, action: PowerCommandName })),
  power: z.array(z.object({ at: At, state: z.enum(["on", "off", "powering-on", "powering-off"]) })),
  overrides: z.array(z.object({ at: At, device: z.string(), enabled: z.string() })),
  boots: z.array(z.object({ at: At, device: z.string(), overridden: z.boolean() })),
  /** Sessions open on its BMC now. */
  sessions: z.int(),
});
export type MachineRecord = z.infer<typeof MachineRecord>;

/** Something that must not be. */
export interface Finding {
  /** Which promise it breaks, in a few words. */
  readonly rule: string;
  readonly text: string;
}
