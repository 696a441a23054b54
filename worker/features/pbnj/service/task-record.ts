import { z } from "zod";

const Instant = z.iso.datetime();

/**
 * The record of one task. It is written to disk, so it contains no secrets of its request: neither BMC credentials nor user
 * passwords.
 */
export const TaskRecord = z.strictObject({
  version: z.literal(1),
  id: z.uuid(),
  description: z.string(),
  /** The machine's name, or the BMC's address. */
  subject: z.string(),
  /** The requested action without its secrets. */
  work: z.strictObject({
    action: z.string(),
    environment: z.record(z.string(), z.string()),
    timeoutMs: z.number().nonnegative(),
    result: z.string(),
  }),
  /** Whether the request contained secrets. They are kept only in memory, and the task cannot run without them. */
  hasSecrets: z.boolean(),
  /** Whether the request contained the BMC's credentials. */
  hasDirectAccess: z.boolean(),
  /** A digest of the caller and the request ID. */
  requestKey: z.string().optional(),
  acceptedAt: Instant,
  startedAt: Instant.optional(),
  messages: z.array(z.string()),
  end: z
    .strictObject({
      at: Instant,
      result: z.string(),
      /** The error; `code` is a gRPC code. */
      error: z.strictObject({ code: z.int(), message: z.string() }).optional(),
    })
    .optional(),
});
export type TaskRecord = z.infer<typeof TaskRecord>;

/** What a client asked for, without secrets. */
export interface RequestedTask {
  readonly description: string;
  readonly subject: string;
  readonly work: TaskRecord["work"];
}
