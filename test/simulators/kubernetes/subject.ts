import { inject } from "vitest";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import type { ClusterAccess } from "../../../simulators/kubernetes/node/cluster-access.ts";
import { accessFromKubeconfig } from "../../../simulators/kubernetes/node/cluster-client.ts";

/** A cluster that a case runs at. */
export interface Subject {
  readonly controlPlane: ClusterAccess;
  close(): Promise<void>;
}

/** The real control plane in the project `kubernetes`, the fake otherwise: what the fake does, the real one does as well. */
export function startSubject(): Promise<Subject> {
  const kubeconfig = inject("kubeconfig");
  return kubeconfig === undefined
    ? FakeCluster.start()
    : Promise.resolve({ controlPlane: accessFromKubeconfig(kubeconfig), close: () => Promise.resolve() });
}
