import * as z from "zod/mini";
import type { Pause } from "../../core/action/machine-facts.ts";
import type { Labels } from "../../document/labels.ts";
import { keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import type { HostContent } from "./described-host.ts";
import type { BmcTarget, Describe, Described } from "./described-machine.ts";

export type ClaimContent =
  | { readonly kind: "bound"; readonly host: ObjectName }
  | { readonly kind: "unbound"; readonly problem: string };

/** A HostClaim (`metal3.io/v1alpha1`), reduced to the fields that the worker reads. */
const ClaimObject = z.object({
  metadata: z.object({ deletionTimestamp: z.optional(z.string()) }),
  status: z.optional(
    z.object({
      bareMetalHost: z.optional(z.object({ namespace: z.string(), name: z.string() })),
      conditions: z.optional(z.array(z.object({ type: z.string(), status: z.string() }))),
    }),
  ),
});

/** Reads a HostClaim. Never throws. */
export const describeClaim: Describe<ClaimContent> = (object, name) => ({ name, content: contentOf(object) });

function contentOf(object: unknown): ClaimContent {
  const parsed = ClaimObject.safeParse(object);
  if (!parsed.success) return { kind: "unbound", problem: "is not a valid HostClaim" };
  const { metadata, status } = parsed.data;
  if (metadata.deletionTimestamp !== undefined) return { kind: "unbound", problem: "is being deleted" };
  const associated = status?.conditions?.find(({ type }) => type === "Associated");
  if (!status?.bareMetalHost || associated?.status !== "True") {
    return { kind: "unbound", problem: "has no host yet: its condition Associated is not True" };
  }
  return { kind: "bound", host: status.bareMetalHost };
}

/**
 * Finds the host of a claim. Claim and host must name each other, because the tenant can edit the claim. The problems reveal
 * nothing about the host, which the tenant must not know.
 */
export function targetOfClaim(
  { name: claim, content, paused }: Described<ClaimContent>,
  findHost: (name: ObjectName) => Described<HostContent> | undefined,
): {
  readonly target: BmcTarget;
  readonly host?: ObjectName;
  readonly paused?: Pause | undefined;
  readonly labels?: Labels | undefined;
} {
  if (content.kind === "unbound") {
    return { target: { kind: "unusable", problems: [content.problem] }, paused };
  }
  const host = findHost(content.host);
  const found = host?.content;
  const isMutual = found?.claim !== undefined && keyOf(found.claim) === keyOf(claim);
  if (!found || !isMutual) {
    const problem = "has a host that this worker does not see, or that is not bound to the claim";
    return { target: { kind: "unusable", problems: [problem] }, paused };
  }
  const { target } = found;
  // The host's labels count: the tenant edits those of the claim, which must not select the policy's rules.
  const either = { paused: paused ?? (host?.paused && HOST_PAUSED), labels: host?.labels };
  if (target.kind === "usable") return { target, host: content.host, ...either };
  return { target: { kind: "unusable", problems: [HOST_REFUSED] }, ...either };
}

/** The pause of a claim whose host is paused. Does not show the reason, which only the operator may know. */
export const HOST_PAUSED: Pause = { reason: "ask the operator for the reason", by: "its host" };

export const HOST_REFUSED =
  "has a host that cannot be used now: ask the operator, whose worker logs the reason";
