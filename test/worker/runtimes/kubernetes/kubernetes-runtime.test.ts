import { afterAll, beforeAll, describe } from "vitest";
import { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { itRunsActionsAsJobs } from "./kubernetes-cases.ts";
import { RuntimeLab } from "./runtime-lab.ts";

const namespace = "actions";

describe("the kubernetes runtime", () => {
  let cluster: FakeCluster;
  beforeAll(async () => {
    cluster = await FakeCluster.start({ namespaces: ["default"] });
    cluster.create("v1", "Namespace", {
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
  });
  afterAll(async () => {
    await cluster.close();
  });

  itRunsActionsAsJobs(() =>
    RuntimeLab.start({ control: cluster.controlPlane, worker: cluster.access(), namespace }),
  );
});
