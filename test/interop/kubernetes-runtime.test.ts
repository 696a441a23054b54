import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ClusterAccess } from "../../simulators/kubernetes/node/cluster-access.ts";
import { accessFromKubeconfig, ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import { JobController } from "../../simulators/kubernetes/node/job-controller.ts";
import { itRunsActionsAsJobs } from "../worker/runtime/kubernetes/kubernetes-cases.ts";
import { RuntimeLab } from "../worker/runtime/kubernetes/runtime-lab.ts";

const kubeconfig = process.env["KUBECONFIG"];

/** Against a real API server. Its node is played here; its controllers as well, unless it has its own. */
describe.runIf(kubeconfig)("the kubernetes runtime, with a real API server", () => {
  const namespace = `pbnj-runtime-${randomUUID().slice(0, 8)}`;
  let access: ClusterAccess;
  let client: ClusterClient;
  let controller: JobController | undefined;
  beforeAll(async () => {
    access = accessFromKubeconfig(readFileSync(kubeconfig ?? "", "utf8"));
    client = new ClusterClient(access);
    await client.create("/api/v1/namespaces", {
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
    controller = (await hasJobController()) ? undefined : JobController.start(access, { namespace });
  });
  afterAll(async () => {
    await controller?.close();
    await client?.delete(`/api/v1/namespaces/${namespace}`);
    await client?.close();
  });

  /** A controller of Jobs says of a suspended one that it is: some servers bring other controllers alone. */
  async function hasJobController(): Promise<boolean> {
    const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    const containers = [{ name: "probe", image: "registry.example/probe:v1" }];
    const template = { spec: { restartPolicy: "Never", containers } };
    await client.create(jobs, { metadata: { name: "probe" }, spec: { suspend: true, template } });
    const seen = vi.waitFor(
      async () => {
        const probe = await client.get(`${jobs}/probe`);
        expect(probe.status).toHaveProperty("conditions");
      },
      { timeout: 5_000, interval: 100 },
    );
    return seen.then(
      () => true,
      () => false,
    );
  }

  itRunsActionsAsJobs(() => RuntimeLab.start({ control: access, worker: access, namespace }));
});

if (!kubeconfig) {
  it.skip("the kubernetes runtime, with a real API server: set KUBECONFIG to run it", () => undefined);
}
