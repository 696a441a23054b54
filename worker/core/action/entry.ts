import { z } from "zod";
import { defined } from "../../../shared/defined.ts";
import type { EndStatus } from "./action.ts";

const Instant = z.iso.datetime();

const LaunchHandle = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

const About = {
  /** The `actionKey` of `action`; checked when it is read. */
  key: z.string(),
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
  /** The BMC that is locked while it runs; absent if none is known. */
  lockKey: z.string().optional(),
  runtime: z.string(),
  /** It gets its connection from the worker, and cannot act before. */
  connected: z.boolean(),
  timeoutMs: z.number().nonnegative(),
  /** The start time that was reported with RUNNING. */
  startedAt: Instant,
  /** The start time as a `bootTimeText`. */
  startedBootTime: z.string().optional(),
};

/** How it ended, as reported. */
const End = z.strictObject({
  state: z.enum(["success", "failed", "timeout"]),
  message: z.string(),
  stoppedAt: Instant,
});

const Ended = { ...About, handle: LaunchHandle.optional(), end: End };

/**
 * What the worker knows of one action, written before each step that cannot be undone. Contains no secrets: neither the
 * connection nor the environment nor the action's result.
 */
export const JournalEntry = z.discriminatedUnion("phase", [
  /** It is about to be launched. If it is not `connected`, it may have acted already. */
  z.strictObject({ ...About, phase: z.literal("launching") }),
  /** It exists, and may have acted. */
  z.strictObject({ ...About, phase: z.literal("launched"), handle: LaunchHandle }),
  /** It ended, and the server may not know yet. */
  z.strictObject({ ...Ended, phase: z.literal("ended") }),
  /** It ended, and the server or a proxy rejected the report, which is repeated. `code` is gRPC's name. */
  z.strictObject({ ...Ended, phase: z.literal("rejected"), rejectedAt: Instant, code: z.string() }),
  /** The server knows. Kept for a while, because the server may still serve the action from a stale cache. */
  z.strictObject({ ...Ended, phase: z.literal("acknowledged"), acknowledgedAt: Instant }),
  /** The server was not told, because its workflow is gone. Kept for days: if the server serves the action again, it gets this end. */
  z.strictObject({ ...Ended, phase: z.literal("dropped"), droppedAt: Instant }),
]);
export type JournalEntry = z.infer<typeof JournalEntry>;
export type JournalPhase = JournalEntry["phase"];

/** How it ended is known. */
export type EndedEntry = Extract<JournalEntry, { readonly end: unknown }>;
/** Its report is to be made. */
export type UnreportedEntry = EndedEntry & { readonly phase: "ended" | "rejected" };
/** Its report is not to be made any more. */
export type SettledEntry = EndedEntry & { readonly phase: "acknowledged" | "dropped" };

export function isUnreported(entry: JournalEntry): entry is UnreportedEntry {
  return entry.phase === "ended" || entry.phase === "rejected";
}

export function isSettled(entry: JournalEntry): entry is SettledEntry {
  return entry.phase === "acknowledged" || entry.phase === "dropped";
}

/** What an entry gets beside what it has. */
export interface EntryFacts {
  readonly handle?: z.infer<typeof LaunchHandle>;
  readonly end?: z.infer<typeof End>;
  /** Reason why the server rejected the report. */
  readonly code?: string;
}

/** The entry in another phase, from `at` on: with what that phase has, and without what only others have. */
export function entryIn(
  phase: JournalPhase,
  before: JournalEntry,
  at: string,
  facts: EntryFacts = {},
): JournalEntry {
  const { key, action, runtime, connected, timeoutMs, startedAt, ...others } = before;
  const { machine, lockKey, startedBootTime } = others;
  const optional = defined({ machine, lockKey, startedBootTime });
  const about = { key, action, ...optional, runtime, connected, timeoutMs, startedAt };
  const { handle = "handle" in others ? others.handle : undefined, code = "Unknown" } = facts;
  if (phase === "launching") return { ...about, phase };
  if (phase === "launched") return { ...about, phase, handle: handle ?? {} };
  const { end = "end" in others ? others.end : undefined } = facts;
  if (!end) throw new Error(`an entry in phase ${phase} has no end`);
  const ended = { ...about, ...defined({ handle }), end };
  switch (phase) {
    case "ended":
      return { ...ended, phase };
    case "rejected":
      return { ...ended, phase, rejectedAt: at, code };
    case "acknowledged":
      return { ...ended, phase, acknowledgedAt: at };
    case "dropped":
      return { ...ended, phase, droppedAt: at };
    default:
      return phase satisfies never;
  }
}

export function statusOf({ action, machine, startedAt, end }: EndedEntry): EndStatus {
  const { state, message, stoppedAt } = end;
  return {
    action,
    ...defined({ machine }),
    state,
    message,
    startedAt: new Date(startedAt),
    stoppedAt: new Date(stoppedAt),
  };
}
