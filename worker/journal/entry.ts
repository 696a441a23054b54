import { z } from "zod";
import type { ActionStatus } from "../action/action.ts";

const Instant = z.iso.datetime();

const LaunchHandle = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

const About = {
  /** `actionKey` of the action. */
  key: z.string().regex(/^[0-9a-f]{32}$/),
  action: z.strictObject({
    workflowId: z.string(),
    taskId: z.string(),
    agentId: z.string(),
    actionId: z.string(),
    name: z.string(),
    image: z.string(),
    idMayReturn: z.literal(true).optional(),
  }),
  machine: z.string().optional(),
  /** What is locked while it runs; absent where no BMC is known. */
  lockKey: z.string().optional(),
  /** What launched it. */
  runtime: z.string(),
  /** It gets its connection from the worker, and can do nothing before that. */
  connected: z.boolean(),
  timeoutMs: z.number().nonnegative(),
  /** As reported with RUNNING. */
  startedAt: Instant,
  /** The same by the time since the machine started, as `bootTimeText` has it. */
  startedBootTime: z.string().optional(),
};

/** How it ended, as it is (to be) reported. */
const End = z.strictObject({
  state: z.enum(["success", "failed", "timeout"]),
  message: z.string(),
  stoppedAt: Instant,
});

/**
 * What the worker knows of one action, written down before each step that cannot be taken back. Holds no
 * secret: neither the connection nor the environment nor what the action read.
 */
export const JournalEntry = z.discriminatedUnion("phase", [
  /** It is about to be launched. Only one that is not `connected` may have done something already. */
  z.strictObject({ ...About, phase: z.literal("launching") }),
  /** It is there, and may have done something from now on; `handle` is the runtime's own. */
  z.strictObject({ ...About, phase: z.literal("launched"), handle: LaunchHandle }),
  /** It ended, and the server does not know yet. */
  z.strictObject({ ...About, phase: z.literal("ended"), handle: LaunchHandle.optional(), end: End }),
  /** The server knows; kept for a while, because it may still serve the action out of a stale cache. */
  z.strictObject({
    ...About,
    phase: z.literal("acknowledged"),
    handle: LaunchHandle.optional(),
    end: End,
    acknowledgedAt: Instant,
  }),
]);
export type JournalEntry = z.infer<typeof JournalEntry>;
export type JournalPhase = JournalEntry["phase"];

/**
 * Whether the entry must outlast a loss of power: from the moment on at which the action may have done something
 * until the server knows its end. An entry that is lost before means that the server serves the action again; one
 * that is lost after, that the server is told the end twice.
 */
export function mustLast({ phase, connected }: Pick<JournalEntry, "phase" | "connected">): boolean {
  return phase === "launched" || phase === "ended" || (phase === "launching" && !connected);
}

/** The report of an end that is on record. */
export function statusOf({
  action,
  machine,
  startedAt,
  end,
}: JournalEntry & { phase: "ended" | "acknowledged" }): ActionStatus {
  const { state, message, stoppedAt } = end;
  const times = { startedAt: new Date(startedAt), stoppedAt: new Date(stoppedAt) };
  return { action, ...(machine && { machine }), state, message, ...times };
}
