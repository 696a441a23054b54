import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { describeClaim } from "./described-claim.ts";

/** A HostDeployPolicy (`metal3.io/v1alpha1`), reduced to the fields that the worker reads. */
const PolicyObject = z.object({
  spec: z.object({
    hostClaimNamespaces: z.optional(
      z.object({
        names: z.optional(z.nullable(z.array(z.string()))),
        nameMatches: z.optional(z.string()),
        hasLabels: z.optional(
          z.nullable(z.array(z.object({ name: z.string(), value: z.optional(z.string()) }))),
        ),
      }),
    ),
  }),
});
type Constraints = NonNullable<z.infer<typeof PolicyObject>["spec"]["hostClaimNamespaces"]>;
type Labels = Readonly<Record<string, string>>;

const NamespaceObject = z.object({
  metadata: z.object({ labels: z.optional(z.record(z.string(), z.string())) }),
});

const REFUSED = "may not use its host: no HostDeployPolicy beside the host allows the claim's namespace";

interface ClaimUse {
  readonly claim: ObjectName;
  readonly host: ObjectName;
  readonly references: ReferenceRefusal;
}

/**
 * Throws a `BmcError` unless the claim is bound to the host now and is allowed to use it. A HostDeployPolicy in the host's
 * namespace decides, or the worker's policy if the cluster does not have this kind.
 */
export async function checkClaim(
  cluster: Cluster,
  { claim, host, references }: ClaimUse,
  signal: AbortSignal,
): Promise<void> {
  const { content } =
    describeClaim(await cluster.get(KINDS.hostClaim, claim, z.unknown(), signal), claim) ?? {};
  if (content?.kind !== "bound" || keyOf(content.host) !== keyOf(host)) {
    throw new BmcError("state", "its host changed while the action waited");
  }
  const permitted = await isPermitted(cluster, claim.namespace, host.namespace, signal);
  if (permitted === false) throw new BmcError("usage", REFUSED);
  if (permitted) return;
  const reference = {
    from: { kind: "HostClaim", ...claim },
    to: { kind: "BareMetalHost", ...host },
  } as const;
  const problem = references(reference);
  if (problem !== undefined) throw new BmcError("usage", `may not use its host: ${problem}`);
}

/**
 * Whether a claim in the namespace `tenant` may use hosts in the namespace `hosts`, by the operator's rules
 * (`acceptableNamespaces`): all constraints of at least one policy must match, and a policy without constraints allows no
 * claim. Undefined if the cluster does not have the kind.
 */
async function isPermitted(
  cluster: Cluster,
  tenant: string,
  hosts: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  let items: readonly unknown[];
  try {
    ({ items } = await cluster.list(KINDS.hostDeployPolicy, { namespace: hosts }, z.unknown(), signal));
  } catch (thrown) {
    if (isKubernetesError(thrown, "no-such-kind")) return undefined;
    throw thrown;
  }
  let labels: Promise<Labels> | undefined;
  const labelsOf = () => {
    labels ??= readLabels(cluster, tenant, signal);
    return labels;
  };
  for (const item of items) {
    const constraints = PolicyObject.safeParse(item).data?.spec.hostClaimNamespaces;
    if (constraints && (await holds(constraints, tenant, labelsOf))) return true;
  }
  return false;
}

async function holds(
  { names, nameMatches, hasLabels }: Constraints,
  tenant: string,
  labelsOf: () => Promise<Labels>,
): Promise<boolean> {
  if (names && !names.includes(tenant)) return false;
  if (nameMatches && !(await matches(nameMatches, tenant))) return false;
  if (!hasLabels || hasLabels.length === 0) return true;
  const labels = await labelsOf();
  return hasLabels.every(({ name, value }) => {
    const own = Object.hasOwn(labels, name) ? labels[name] : undefined;
    return own !== undefined && (!value || own === value);
  });
}

/** Matches part of the name with Go's syntax of regular expressions, like the operator. Takes linear time. */
async function matches(pattern: string, name: string): Promise<boolean> {
  const { RE2JS } = await import("re2js");
  try {
    return RE2JS.compile(pattern).matcher(name).find();
  } catch {
    return false;
  }
}

async function readLabels(cluster: Cluster, namespace: string, signal: AbortSignal): Promise<Labels> {
  const name = { namespace: "", name: namespace };
  const { metadata } = await cluster.get(KINDS.namespace, name, NamespaceObject, signal);
  return metadata.labels ?? {};
}
