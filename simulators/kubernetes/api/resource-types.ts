/** A kind of object that the API serves. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether `status` is a subresource that is written separately. */
  readonly hasStatus: boolean;
  /** Whether the kind comes from a CustomResourceDefinition, which a cluster may not have. */
  readonly custom: boolean;
}

const BMC = "bmc.tinkerbell.org";
const METAL3 = "metal3.io";
const TINKERBELL = "tinkerbell.org";

export const BUILT_IN_TYPES: readonly ResourceType[] = [
  builtIn("", "Namespace", "namespaces", { namespaced: false, hasStatus: true }),
  builtIn("", "Node", "nodes", { namespaced: false, hasStatus: true }),
  builtIn("", "Pod", "pods", { hasStatus: true }),
  builtIn("", "Secret", "secrets"),
  builtIn("", "ConfigMap", "configmaps"),
  builtIn("", "Event", "events"),
  builtIn("", "ServiceAccount", "serviceaccounts"),
  builtIn("batch", "Job", "jobs", { hasStatus: true }),
  builtIn("coordination.k8s.io", "Lease", "leases"),
  builtIn("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", {
    namespaced: false,
  }),
];

/** The kinds of Tinkerbell and Metal3. */
export const CUSTOM_TYPES: readonly ResourceType[] = [
  custom(BMC, "v1alpha1", "Machine", "machines"),
  custom(BMC, "v1alpha1", "Job", "jobs"),
  custom(BMC, "v1alpha1", "Task", "tasks"),
  custom(TINKERBELL, "v1alpha1", "Hardware", "hardware"),
  custom(TINKERBELL, "v1alpha1", "Template", "templates"),
  custom(TINKERBELL, "v1alpha1", "Workflow", "workflows"),
  custom(BMC, "v1alpha2", "Job", "jobs"),
  custom(TINKERBELL, "v1alpha2", "Hardware", "hardware"),
  custom(TINKERBELL, "v1alpha2", "Workflow", "workflows"),
  custom(METAL3, "v1alpha1", "BareMetalHost", "baremetalhosts"),
  custom(METAL3, "v1alpha1", "HostClaim", "hostclaims"),
  custom(METAL3, "v1alpha1", "HostDeployPolicy", "hostdeploypolicies"),
];

export function apiVersionOf({ group, version }: Pick<ResourceType, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Returns the name with its group: `jobs.batch`, or `secrets` in the core group. */
export function qualifiedResource({ group, plural }: ResourceType): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function builtIn(
  group: string,
  kind: string,
  plural: string,
  { namespaced = true, hasStatus = false }: { namespaced?: boolean; hasStatus?: boolean } = {},
): ResourceType {
  return { group, version: "v1", kind, plural, namespaced, hasStatus, custom: false };
}

function custom(group: string, version: string, kind: string, plural: string): ResourceType {
  return { group, version, kind, plural, namespaced: true, hasStatus: true, custom: true };
}
