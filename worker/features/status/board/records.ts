import { z } from "zod";
import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { PowerState } from "../../../../shared/contract/vocabulary.ts";
import { MachineFacts } from "../../../core/action/machine-facts.ts";
import type { LaneState } from "../../../core/action/observer.ts";

// The records of the board, which are saved to a file. They are immutable: every event creates new ones. `...Ms` are moments on
// the monotonic clock, or durations; the wall clock's times are only displayed, because that clock can jump.

const Text = z.string().max(4_000);
const Count = z.number().finite();
const When = z.coerce.date();

export type ActionRecord = Readonly<z.infer<typeof ActionRecord>>;
export const ActionRecord = z.object({
  action: z.object({
    key: Text,
    workflowId: Text,
    taskId: Text,
    agentId: Text,
    actionId: Text,
    name: Text,
    image: Text,
  }),
  machine: Text.optional(),
  /** `waiting` for the machine's lock or for a slot. */
  phase: z.enum(["waiting", "running", "succeeded", "failed"]),
  /** Start of the phase. */
  sinceMs: Count,
  takenAt: When.optional(),
  startedAt: When.optional(),
  stoppedAt: When.optional(),
  runtime: Text.optional(),
  timeoutMs: Count.optional(),
  /** Started by an earlier worker. */
  adopted: z.boolean(),
  /** What it does now. */
  progress: z.object({ text: Text, limitMs: Count.optional(), sinceMs: Count }).optional(),
  /** How long it waited, if this worker took it; once it runs or has ended. */
  waitedMs: Count.optional(),
  /** When it tried a call to the BMC again, since its start; the first ones. */
  retriesMs: z.array(Count).max(100).optional(),
  /** Once it has ended; never negative. */
  durationMs: Count.optional(),
  class: z.optional(ErrorClass),
  /** One line: why it failed, or what it did. */
  reason: Text.optional(),
  exitCode: Count.optional(),
  provider: Text.optional(),
  /** The delivery of its final report; absent while it is pending. A rejected report is pending, too. */
  delivery: z.enum(["acknowledged", "rejected", "dropped", "unanswered"]).optional(),
  /** The text of that report. */
  reported: Text.optional(),
});

/** A machine's power state, and the name of the action that read it. */
const PowerReading = z.object({ state: PowerState, at: When, sinceMs: Count, by: Text });
export type PowerReading = Readonly<z.infer<typeof PowerReading>>;

/** A failed action, which may no longer be kept. */
const Failure = z.object({
  key: Text,
  name: Text,
  at: When,
  sinceMs: Count,
  class: z.optional(ErrorClass),
  reason: Text.optional(),
});
export type Failure = Readonly<z.infer<typeof Failure>>;

/** Facts about a machine from ended actions. */
export type MachineRecord = Readonly<z.infer<typeof MachineRecord>>;
export const MachineRecord = z.object({
  name: Text,
  /** The power state that was read last. */
  power: PowerReading.optional(),
  /** The first readings of each state, newest first. */
  powerChanges: z.array(PowerReading).max(100).default([]),
  /** The facts that actions have read, with the last of these actions and its time. */
  known: z.object({ facts: MachineFacts, by: Text, at: When }).optional(),
  /** The provider that served last. */
  provider: Text.optional(),
  /** Newest first. */
  failures: z.array(Failure).max(100).default([]),
  /** Key of the action that ended last. */
  last: Text.optional(),
});

/** One minute of the worker. */
export type Minute = z.infer<typeof Minute>;
export const Minute = z.object({
  at: When,
  succeeded: Count,
  failed: Count,
  /** The most actions that waited at once. */
  waiting: Count,
});

/** What survives a restart. */
export type History = Readonly<z.infer<typeof History>>;
export const History = z.object({
  version: z.literal(1),
  /** Ended ones, oldest first. */
  actions: z.array(ActionRecord),
  machines: z.array(MachineRecord),
  activity: z.array(Minute).max(100).default([]),
});

export interface AgentRecord {
  readonly agentId: string;
  readonly state: LaneState;
  readonly sinceMs: number;
  /** gRPC code of the last failed poll, while polls fail. */
  readonly code: string | undefined;
}

export function isEnded({ phase }: ActionRecord): boolean {
  return phase === "succeeded" || phase === "failed";
}
