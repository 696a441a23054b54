import { KubernetesError } from "./kubernetes-error.ts";

export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
}

export const KINDS = {
  job: { group: "batch", version: "v1", kind: "Job", resource: "jobs" },
  pod: { group: "", version: "v1", kind: "Pod", resource: "pods" },
  event: { group: "", version: "v1", kind: "Event", resource: "events" },
  namespace: { group: "", version: "v1", kind: "Namespace", resource: "namespaces" },
  secret: { group: "", version: "v1", kind: "Secret", resource: "secrets" },
  lease: { group: "coordination.k8s.io", version: "v1", kind: "Lease", resource: "leases" },
  rufioMachine: { group: "bmc.tinkerbell.org", version: "v1alpha1", kind: "Machine", resource: "machines" },
  rufioJob: { group: "bmc.tinkerbell.org", version: "v1alpha1", kind: "Job", resource: "jobs" },
  rufioJobV1Alpha2: { group: "bmc.tinkerbell.org", version: "v1alpha2", kind: "Job", resource: "jobs" },
  rufioTask: { group: "bmc.tinkerbell.org", version: "v1alpha1", kind: "Task", resource: "tasks" },
  hardware: { group: "tinkerbell.org", version: "v1alpha1", kind: "Hardware", resource: "hardware" },
  hardwareV1Alpha2: { group: "tinkerbell.org", version: "v1alpha2", kind: "Hardware", resource: "hardware" },
  workflow: { group: "tinkerbell.org", version: "v1alpha1", kind: "Workflow", resource: "workflows" },
  workflowV1Alpha2: { group: "tinkerbell.org", version: "v1alpha2", kind: "Workflow", resource: "workflows" },
  bareMetalHost: {
    group: "metal3.io",
    version: "v1alpha1",
    kind: "BareMetalHost",
    resource: "baremetalhosts",
  },
  hostClaim: { group: "metal3.io", version: "v1alpha1", kind: "HostClaim", resource: "hostclaims" },
  hostDeployPolicy: {
    group: "metal3.io",
    version: "v1alpha1",
    kind: "HostDeployPolicy",
    resource: "hostdeploypolicies",
  },
} as const satisfies Readonly<Record<string, Kind>>;

/**
 * Whether a Hardware's `bmcRef` refers to a Machine. Tinkerbell's manual writes the kind as `machine.bmc.tinkerbell.org`, and its
 * programs read only the name.
 */
export function refersToMachine({
  kind,
  apiGroup,
}: {
  readonly kind: string;
  readonly apiGroup?: string | null | undefined;
}): boolean {
  const { group, kind: machine } = KINDS.rufioMachine;
  const written = kind.toLowerCase();
  const isMachine = written === machine.toLowerCase() || written === `${machine.toLowerCase()}.${group}`;
  return isMachine && (!apiGroup || apiGroup === group);
}

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The inverse of `keyOf`; neither part contains a slash. */
export function nameOfKey(key: string): ObjectName {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}

export function apiVersionOf({ group, version }: Kind): string {
  return group === "" ? version : `${group}/${version}`;
}

export function resourceName({ group, resource }: Kind): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Names that change what a path refers to, even if percent-encoded (RFC 3986 section 5.2.4). */
const NOT_NAMES: ReadonlySet<string> = new Set(["", ".", ".."]);

/**
 * Builds the path of an object or a list. Without a namespace, or with an empty one, a list spans all namespaces, and an
 * object is one that has no namespace. Throws for a name that Kubernetes does not allow.
 */
export function pathOf(kind: Kind, namespace?: string, name?: string, subresource?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const parts = [
    ...(namespace === undefined || namespace === "" ? [] : ["namespaces", namespace]),
    kind.resource,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  const invalid = parts.find((part) => NOT_NAMES.has(part));
  if (invalid !== undefined)
    throw new KubernetesError("invalid", `${JSON.stringify(invalid)} is not the name of an object`);
  return [root, ...parts.map((part) => encodeURIComponent(part))].join("/");
}
