import { z } from "zod";
import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { PowerState } from "../../../../shared/contract/vocabulary.ts";
import { MachineFacts } from "../../../core/action/machine-facts.ts";

const Text = z.string().max(4_000);
const Count = z.number().finite();
const When = z.iso.datetime().transform((text) => new Date(text));

const KeptAction = z.object({
  action: z.object({
    ...{ key: Text, workflowId: Text, taskId: Text, agentId: Text, actionId: Text, name: Text, image: Text },
  }),
  machine: Text.optional(),
  phase: z.enum(["succeeded", "failed"]),
  endedAt: When,
  takenAt: When.optional(),
  startedAt: When.optional(),
  stoppedAt: When.optional(),
  runtime: Text.optional(),
  timeoutMs: Count.optional(),
  adopted: z.boolean(),
  waitedMs: Count.optional(),
  retriesMs: z.array(Count).max(100).optional(),
  durationMs: Count.optional(),
  class: z.optional(ErrorClass),
  reason: Text.optional(),
  exitCode: Count.optional(),
  provider: Text.optional(),
  delivery: z.enum(["acknowledged", "rejected", "dropped", "unanswered"]).optional(),
  reported: Text.optional(),
});

const KeptPower = z.object({ state: PowerState, at: When, by: Text });

const KeptFailure = z.object({
  key: Text,
  name: Text,
  at: When,
  class: z.optional(ErrorClass),
  reason: Text.optional(),
});

const KeptMachine = z.object({
  name: Text,
  /** Key of the action that ended last. */
  last: Text.optional(),
  power: KeptPower.optional(),
  provider: Text.optional(),
  powerChanges: z.array(KeptPower).max(100).default([]),
  failures: z.array(KeptFailure).max(100).default([]),
  known: z.object({ facts: MachineFacts, by: Text, at: When }).optional(),
});

const KeptMinute = z.object({ at: When, succeeded: Count, failed: Count, waiting: Count });

/** What a board keeps for the next worker: ended actions, oldest first, machines, and the last hour's activity. */
export const BoardHistory = z.object({
  version: z.literal(1),
  actions: z.array(KeptAction),
  machines: z.array(KeptMachine),
  /** Absent in files of version 0.1.0 and earlier. */
  activity: z.array(KeptMinute).max(100).default([]),
});
export type BoardHistory = z.infer<typeof BoardHistory>;
