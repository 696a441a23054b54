import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../cluster/client/kinds.ts";
import { isKubernetesError } from "../../cluster/client/kubernetes-error.ts";
import { describeClaim } from "./described-claim.ts";

type Reader = Pick<Cluster, "get" | "list">;

/** What is read of a HostDeployPolicy, `metal3.io/v1alpha1`. */
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

/** Throws a `BmcError` unless the claim is bound to the host now and a HostDeployPolicy allows it, where there are such. */
export async function checkClaim(
  cluster: Reader,
  claim: ObjectName,
  host: ObjectName,
  signal: AbortSignal,
): Promise<void> {
  const { content } =
    describeClaim(await cluster.get(KINDS.hostClaim, claim, z.unknown(), signal), claim) ?? {};
  if (content?.kind !== "bound" || keyOf(content.host) !== keyOf(host)) {
    throw new BmcError("state", "its host changed while the action waited");
  }
  if (!(await isPermitted(cluster, claim.namespace, host.namespace, signal))) {
    throw new BmcError("usage", REFUSED);
  }
}

/** As the operator decides it (`acceptableNamespaces`): one policy must hold in all its parts; one without the field allows no claim. */
async function isPermitted(
  cluster: Reader,
  tenant: string,
  hosts: string,
  signal: AbortSignal,
): Promise<boolean> {
  let items: readonly unknown[];
  try {
    ({ items } = await cluster.list(KINDS.hostDeployPolicy, { namespace: hosts }, z.unknown(), signal));
  } catch (thrown) {
    if (isKubernetesError(thrown, "no-such-kind")) return true;
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
