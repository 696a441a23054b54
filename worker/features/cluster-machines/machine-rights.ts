import type { NeededRight } from "../../kubernetes/client/needed-right.ts";
import type { Managed } from "./described-host.ts";
import type { ClusterSource } from "./machine-index.ts";

export interface InventoryRight extends NeededRight {
  /** When the right is needed, as a clause without a full stop. */
  readonly when: string;
}

export const RIGHTS: readonly InventoryRight[] = [
  {
    group: "bmc.tinkerbell.org",
    resource: "machines",
    verbs: ["list", "watch"],
    scope: "watched",
    when: "machines come from Machines, or from Hardware of v1alpha1, which only names a Machine",
    why: "each Machine says how a BMC is reached",
  },
  {
    group: "tinkerbell.org",
    resource: "hardware",
    verbs: ["list", "watch"],
    scope: "watched",
    when: "machines come from Hardware",
    why: "each Hardware names its Machine, or says itself how its BMC is reached",
  },
  {
    group: "metal3.io",
    resource: "baremetalhosts",
    verbs: ["get", "list", "watch"],
    scope: "watched",
    when: "machines come from BareMetalHosts",
    why: "each BareMetalHost says how its BMC is reached and whether Metal3 manages it, which is read again at each launch",
  },
  {
    group: "metal3.io",
    resource: "baremetalhosts",
    verbs: ["patch"],
    scope: "watched",
    when: "`metal3Managed` is `via-host`",
    why: "power goes through spec.online and the reboot annotation, and annotations that a dead worker left are removed",
  },
  {
    group: "metal3.io",
    resource: "hostclaims",
    verbs: ["get", "list", "watch"],
    scope: "watched",
    when: "machines come from BareMetalHosts",
    why: "an action may name a HostClaim of its workflow's namespace",
    without: "actions cannot name HostClaims",
  },
  {
    group: "metal3.io",
    resource: "hostdeploypolicies",
    verbs: ["list"],
    scope: "watched",
    when: "machines come from BareMetalHosts",
    why: "a HostDeployPolicy says which namespaces' claims may use a host",
    without: "actions of HostClaims fail",
  },
  {
    group: "",
    resource: "namespaces",
    verbs: ["get"],
    scope: "watched",
    when: "machines come from BareMetalHosts",
    why: "a HostDeployPolicy may ask for labels of the claim's namespace",
    without: "claims fail that only a HostDeployPolicy with labels allows",
  },
  {
    group: "",
    resource: "secrets",
    verbs: ["get"],
    scope: "watched",
    when: "a machine is a BareMetalHost, the worker compares machines with their desired states, or an action does not run as a pod beside the Secrets of its machine, where a kubelet mounts them",
    why: "user names, passwords and a webhook's secrets are read when an action is launched",
  },
];

const OF_MACHINES: readonly string[] = ["machines"];
const OF_HOSTS: readonly string[] = ["baremetalhosts", "hostclaims", "hostdeploypolicies", "namespaces"];

/** The rights for a source with these kinds. Includes reading Secrets, even if a kubelet might mount them instead. */
export function rightsFor(
  kinds: readonly ClusterSource[],
  managedHosts: Managed = "refuse",
): readonly InventoryRight[] {
  const hasMachines = kinds.includes("machines") || kinds.includes("hardware");
  const resources = new Set([
    "secrets",
    ...(hasMachines ? OF_MACHINES : []),
    ...(kinds.includes("hardware") ? ["hardware"] : []),
    ...(kinds.includes("baremetalhosts") ? OF_HOSTS : []),
  ]);
  return RIGHTS.filter(
    ({ resource, verbs }) =>
      resources.has(resource) && (managedHosts === "via-host" || !verbs.includes("patch")),
  );
}

/** The right to read a source's kubeconfig from a Secret and to watch it. */
export function identityRight(secret: string): NeededRight {
  return {
    group: "",
    resource: "secrets",
    name: secret,
    verbs: ["list", "watch"],
    scope: "own",
    why: "a Secret has the kubeconfig of another cluster",
  };
}
