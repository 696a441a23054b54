import { z } from "zod";
import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { PowerState } from "../../../../shared/contract/vocabulary.ts";

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
  durationMs: Count.optional(),
  class: z.optional(ErrorClass),
  reason: Text.optional(),
  exitCode: Count.optional(),
  provider: Text.optional(),
  delivery: z.enum(["acknowledged", "rejected", "unanswered"]).optional(),
  reported: Text.optional(),
});

const KeptMachine = z.object({
  name: Text,
  /** Key of the action that ended last. */
  last: Text.optional(),
  power: z.object({ state: PowerState, at: When, by: Text }).optional(),
});

/** What a board keeps for the next worker: ended actions, oldest first, and machines. */
export const BoardHistory = z.object({
  version: z.literal(1),
  actions: z.array(KeptAction),
  machines: z.array(KeptMachine),
});
export type BoardHistory = z.infer<typeof BoardHistory>;
