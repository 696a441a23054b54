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
  /** `waiting`: the action waits for the machine's lock or for a slot. */
  phase: z.enum(["waiting", "running", "succeeded", "failed"]),
  /** When the phase began. */
  sinceMs: Count,
  takenAt: When.optional(),
  startedAt: When.optional(),
  stoppedAt: When.optional(),
  runtime: Text.optional(),
  timeoutMs: Count.optional(),
  /** An earlier worker started the action. */
  adopted: z.boolean(),
  /** The current step of the action. */
  progress: z.object({ text: Text, limitMs: Count.optional(), sinceMs: Count }).optional(),
  /** How long the action waited, if this worker took it; set once it runs or has ended. */
  waitedMs: Count.optional(),
  /** When the action retried calls to the BMC, since its start; only the first retries. */
  retriesMs: z.array(Count).max(100).optional(),
  /** Set once the action has ended; never negative. */
  durationMs: Count.optional(),
  class: z.optional(ErrorClass),
  /** One line: why the action failed, or what it did. */
  reason: Text.optional(),
  exitCode: Count.optional(),
  provider: Text.optional(),
  /** The delivery of the final report; absent while it is pending. A rejected report counts as pending. */
  delivery: z.enum(["acknowledged", "rejected", "dropped", "unanswered"]).optional(),
  /** The text of the final report. */
  reported: Text.optional(),
});

/** A machine's power state, and the name of the action that read it. */
const PowerReading = z.object({ state: PowerState, at: When, sinceMs: Count, by: Text });
export type PowerReading = Readonly<z.infer<typeof PowerReading>>;

/** A failed action, whose record may be gone. */
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
  /** The latest power state. */
  power: PowerReading.optional(),
  /** The first reading of each power state, the newest first. */
  powerChanges: z.array(PowerReading).max(100).default([]),
  /** Facts that actions have read, with the last of these actions and its time. */
  known: z.object({ facts: MachineFacts, by: Text, at: When }).optional(),
  /** The provider that answered last. */
  provider: Text.optional(),
  /** Newest first. */
  failures: z.array(Failure).max(100).default([]),
  /** The key of the action that ended last. */
  last: Text.optional(),
});

/** The activity in one minute. */
export type Minute = z.infer<typeof Minute>;
export const Minute = z.object({
  at: When,
  succeeded: Count,
  failed: Count,
  /** The maximum number of actions that waited at the same time. */
  waiting: Count,
});

/** The part of the board that survives a restart. */
export type History = Readonly<z.infer<typeof History>>;
export const History = z.object({
  version: z.literal(1),
  /** Ended actions, the oldest first. */
  actions: z.array(ActionRecord),
  machines: z.array(MachineRecord),
  activity: z.array(Minute).max(100).default([]),
});

export interface AgentRecord {
  readonly agentId: string;
  readonly state: LaneState;
  readonly sinceMs: number;
  /** The gRPC code of the last failed poll; undefined while polls succeed. */
  readonly code: string | undefined;
}

export function isEnded({ phase }: ActionRecord): boolean {
  return phase === "succeeded" || phase === "failed";
}
