import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import type { ClusterAccess } from "../../../simulators/kubernetes/node/cluster-access.ts";
import { accessFromKubeconfig, ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { itRunsActionsAsJobs } from "../../worker/runtimes/kubernetes/kubernetes-cases.ts";
import { RuntimeLab } from "../../worker/runtimes/kubernetes/runtime-lab.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

describeWithKubernetes("the kubernetes runtime", (kubeconfig) => {
  const namespace = `pbnj-runtime-${randomUUID().slice(0, 8)}`;
  let access: ClusterAccess;
  let client: ClusterClient;
  beforeAll(async () => {
    access = accessFromKubeconfig(kubeconfig);
    client = new ClusterClient(access);
    await client.create("/api/v1/namespaces", {
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
  });
  afterAll(async () => {
    await client?.delete(`/api/v1/namespaces/${namespace}`);
    await client?.close();
  });

  itRunsActionsAsJobs(() => RuntimeLab.start({ control: access, worker: access, namespace }));
});
