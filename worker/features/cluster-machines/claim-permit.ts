import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { describeClaim } from "./described-claim.ts";

type Reader = Pick<Cluster, "get" | "list">;

/** The fields of a HostDeployPolicy that are read, `metal3.io/v1alpha1`. */
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
 * Throws a `BmcError` unless the claim is bound to the host now and may use it: by a HostDeployPolicy of the host's namespace, or
 * by the worker's policy where the cluster has no HostDeployPolicies.
 */
export async function checkClaim(
  cluster: Reader,
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
 * Whether a claim of `tenant` may use hosts in a namespace, by the operator's rules (`acceptableNamespaces`): all parts of at
 * least one policy must match; a policy without the field allows no claim. Undefined if the cluster has no such policies.
 */
async function isPermitted(
  cluster: Reader,
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

/** The operator uses Go's expressions, which match a part of the name and take linear time. */
async function matches(pattern: string, name: string): Promise<boolean> {
  const { RE2JS } = await import("re2js");
  try {
    return RE2JS.compile(pattern).matcher(name).find();
  } catch {
    return false;
  }
}

async function readLabels(cluster: Reader, namespace: string, signal: AbortSignal): Promise<Labels> {
  const name = { namespace: "", name: namespace };
  const { metadata } = await cluster.get(KINDS.namespace, name, NamespaceObject, signal);
  return metadata.labels ?? {};
}
