import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Cluster } from "../client/cluster.ts";

export type ShareCluster = Pick<Cluster, "create" | "replace" | "remove" | "list" | "watch" | "namespace">;

export type ShareRole = "member" | "shard" | "bmc";

export const ROLE_LABEL = "pbnj-worker/share";
const GROUP_LABEL = "pbnj-worker/share-group";
const ACTION_ANNOTATION = "pbnj-worker/action";

export const ShareLease = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    labels: z.optional(z.record(z.string(), z.string())),
    annotations: z.optional(z.record(z.string(), z.string())),
  }),
  spec: z.optional(
    z.object({
      holderIdentity: z.nullish(z.string()),
      acquireTime: z.nullish(z.string()),
      leaseTransitions: z.nullish(z.number()),
    }),
  ),
});
export type ShareLease = z.infer<typeof ShareLease>;

export function holderOf({ spec }: ShareLease): string | undefined {
  return spec?.holderIdentity || undefined;
}

export function actionOf({ metadata }: ShareLease): string | undefined {
  return metadata.annotations?.[ACTION_ANNOTATION];
}

export function shardNumberOf(group: string, { metadata }: ShareLease): number | undefined {
  const start = `${group}-shard-`;
  const digits = metadata.name.startsWith(start) ? metadata.name.slice(start.length) : "";
  return /^\d{1,5}$/.test(digits) ? Number(digits) : undefined;
}

export function memberLeaseName(group: string, member: string): string {
  return `${group}-member-${nameable(member)}`;
}

export function shardLeaseName(group: string, shard: number): string {
  return `${group}-shard-${shard}`;
}

export function bmcLeaseName(group: string, key: string): string {
  return `${group}-bmc-${createHash("sha256").update(key).digest("hex").slice(0, 40)}`;
}

/** Distinguishes processes with the same member name. */
const INCARNATION = /_[0-9a-f]{8}$/;

export function identityOf(member: string, random: () => number): string {
  const bits = Math.floor(random() * 2 ** 32);
  return `${nameable(member)}_${bits.toString(16).padStart(8, "0")}`;
}

export function memberOf(identity: string): string {
  return identity.replace(INCARNATION, "");
}

/** Selects Leases of a group by label. */
export function selectorOf(group: string, ...roles: readonly ShareRole[]): string {
  return `${GROUP_LABEL}=${group},${ROLE_LABEL} in (${roles.join(",")})`;
}

export interface LeaseText {
  readonly group: string;
  readonly role: ShareRole;
  readonly name: string;
  readonly holder: string | undefined;
  /** Wall clock, for display only. */
  readonly nowMs: number;
  readonly leaseDurationMs?: number;
  readonly actionKey?: string | undefined;
  readonly before?: ShareLease | undefined;
}

/**
 * The body of a Lease. It contains the UID because a PUT without it creates a Lease that was deleted meanwhile
 * (AllowCreateOnUpdate).
 */
export function leaseText(lease: LeaseText) {
  const { group, role, name, holder, nowMs, leaseDurationMs, actionKey, before } = lease;
  const isRenewal = before !== undefined && holderOf(before) === holder;
  const transitions = (before?.spec?.leaseTransitions ?? 0) + (before === undefined || isRenewal ? 0 : 1);
  const acquireTime = isRenewal ? (before.spec?.acquireTime ?? microTime(nowMs)) : microTime(nowMs);
  return {
    metadata: {
      name,
      labels: { "app.kubernetes.io/managed-by": "pbnj-worker", [GROUP_LABEL]: group, [ROLE_LABEL]: role },
      ...(actionKey !== undefined && { annotations: { [ACTION_ANNOTATION]: actionKey } }),
      ...(before && { uid: before.metadata.uid, resourceVersion: before.metadata.resourceVersion }),
    },
    spec: {
      ...(holder !== undefined && { holderIdentity: holder, acquireTime }),
      ...(role === "member" && { renewTime: microTime(nowMs) }),
      ...(leaseDurationMs !== undefined && { leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000) }),
      leaseTransitions: transitions,
    },
  };
}

/** RFC 3339 with six fractional digits, the only form that the API accepts. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

const LONGEST_MEMBER = 150;

/** Makes a valid object name, distinct for each member. Host names stay as they are. */
function nameable(member: string): string {
  if (member.length <= LONGEST_MEMBER && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(member)) return member;
  const plain = member.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const hash = createHash("sha256").update(member).digest("hex").slice(0, 8);
  return `${plain.slice(0, LONGEST_MEMBER - 10).replace(/^-+|-+$/g, "") || "member"}-${hash}`;
}
