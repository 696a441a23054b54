import * as z from "zod/mini";

/** A Lease (`coordination.k8s.io/v1`). Keeps all metadata, because an update replaces it. */
export const Lease = z.object({
  metadata: z.looseObject({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
  spec: z.optional(
    z.object({
      holderIdentity: z.nullish(z.string()),
      leaseDurationSeconds: z.nullish(z.number()),
      acquireTime: z.nullish(z.string()),
      leaseTransitions: z.nullish(z.number()),
    }),
  ),
});
export type Lease = z.infer<typeof Lease>;

export function holderOf({ spec }: Lease): string | undefined {
  return spec?.holderIdentity || undefined;
}

export interface LeaseText {
  readonly name: string;
  /** The new holder; empty to release the Lease. */
  readonly holder: string;
  readonly durationMs: number;
  /** The wall-clock time, for people only: workers never compare it with their own clocks. */
  readonly nowMs: number;
  /** The Lease to replace. Its UID is sent, because a PUT without one would recreate a Lease that was deleted meanwhile. */
  readonly before?: Lease | undefined;
}

/** The body of a request that creates, renews, takes over or releases a Lease. */
export function leaseText({ name, holder, durationMs, nowMs, before }: LeaseText) {
  const now = microTime(nowMs);
  const isRenewal = before !== undefined && holderOf(before) === holder;
  const isTakenOver = before !== undefined && holder !== "" && !isRenewal;
  return {
    metadata: before?.metadata ?? { name, labels: { "app.kubernetes.io/managed-by": "pbnj-worker" } },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: Math.max(1, Math.ceil(durationMs / 1_000)),
      acquireTime: (isRenewal ? before.spec?.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: (before?.spec?.leaseTransitions ?? 0) + (isTakenOver ? 1 : 0),
    },
  };
}

/** Formats a time in RFC 3339 with six fractional digits, the only form that the API accepts. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
