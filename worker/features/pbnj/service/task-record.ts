import { z } from "zod";

const Instant = z.iso.datetime();

/**
 * The record of one task. It is written to disk, so it has none of the secrets of its request: neither the credentials of a
 * BMC nor the password of a user.
 */
export const TaskRecord = z.strictObject({
  version: z.literal(1),
  id: z.uuid(),
  description: z.string(),
  /** The machine's name, or the BMC's address. */
  subject: z.string(),
  /** What was asked for, without its secrets. */
  work: z.strictObject({
    action: z.string(),
    environment: z.record(z.string(), z.string()),
    timeoutMs: z.number().nonnegative(),
    result: z.string(),
  }),
  /** Whether the request contained secrets. These are only in memory, and the task cannot run without them. */
  hasSecrets: z.boolean(),
  /** Whether the request contained the BMC's credentials. */
  hasDirectAccess: z.boolean(),
  /** Digest of caller and request ID. */
  requestKey: z.string().optional(),
  acceptedAt: Instant,
  startedAt: Instant.optional(),
  messages: z.array(z.string()),
  end: z
    .strictObject({
      at: Instant,
      result: z.string(),
      /** `code` is gRPC's. */
      error: z.strictObject({ code: z.int(), message: z.string() }).optional(),
    })
    .optional(),
});
export type TaskRecord = z.infer<typeof TaskRecord>;
