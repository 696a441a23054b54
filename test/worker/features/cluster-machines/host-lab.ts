import type { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { NAMESPACE, secret } from "./inventory-lab.ts";

export const METAL3 = "metal3.io/v1alpha1";
export const HOSTS = { crds: [METAL3], namespaces: ["default", NAMESPACE, "tenant", "other"] } as const;
const DETACHED = { "baremetalhost.metal3.io/detached": "" };

export interface HostFields {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly status?: object;
}

/** With its Secret. */
export function createHost(fake: FakeCluster, name: string, fields: HostFields = {}): void {
  const { namespace = NAMESPACE, annotations = {}, spec = {}, status = {} } = fields;
  fake.create("v1", "Secret", secret(`${name}-bmc`, { username: "root", password: "calvin" }, namespace));
  fake.create(METAL3, "BareMetalHost", {
    metadata: { name, namespace, annotations },
    spec: {
      online: true,
      bmc: { address: `redfish://${name}.bmc.example/redfish/v1/Systems/1`, credentialsName: `${name}-bmc` },
      ...spec,
    },
  });
  fake.patchStatus(METAL3, "BareMetalHost", name, { ...stateOf("provisioned"), ...status }, namespace);
}

export const detached = { annotations: DETACHED, status: { operationalStatus: "detached" } };

export function stateOf(state: string) {
  return { operationalStatus: "OK", poweredOn: true, provisioning: { state } };
}

/** A claim of the namespace `tenant` that is bound to the host. */
export function bindClaim(fake: FakeCluster, name: string, host: string, hostNamespace = NAMESPACE): void {
  const namespace = "tenant";
  fake.create(METAL3, "HostClaim", { metadata: { name, namespace }, spec: { poweredOn: true } });
  const status = {
    bareMetalHost: { namespace: hostNamespace, name: host },
    conditions: [{ type: "Associated", status: "True" }],
  };
  fake.patchStatus(METAL3, "HostClaim", name, status, namespace);
  const consumerRef = { apiVersion: METAL3, kind: "HostClaim", namespace, name };
  fake.patch(METAL3, "BareMetalHost", host, { spec: { consumerRef } }, hostNamespace);
}

export function allowNamespaces(fake: FakeCluster, hostClaimNamespaces: object): void {
  const metadata = { name: "policy", namespace: NAMESPACE };
  fake.create(METAL3, "HostDeployPolicy", { metadata, spec: { hostClaimNamespaces } });
}
