import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { accessFromKubeconfig } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { describeWithHelm, renderAll } from "../../deploy/chart/helm.ts";
import { configIn } from "../../deploy/chart/loaded-config.ts";
import { allOf, Labels, Manifest } from "../../deploy/chart/manifest.ts";
import { mergeValues, needed } from "../../deploy/chart/values.ts";
import { begin, RuntimeLab } from "../../worker/runtimes/kubernetes/runtime-lab.ts";
import { scriptedRequest } from "../../worker/runtimes/launch-request.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const Selector = z.object({ matchLabels: Labels });
const Policy = z.object({
  spec: z.object({
    podSelector: Selector,
    policyTypes: z.array(z.string()),
    ingress: z.array(z.object({ from: z.array(z.object({ podSelector: Selector })) })).default([]),
  }),
});

const Deployment = Manifest.extend({
  spec: z.object({ template: z.looseObject({ metadata: z.looseObject({ labels: Labels }) }) }),
});

const ROOTS: Readonly<Record<string, readonly [group: string, resource: string]>> = {
  ServiceAccount: ["/api/v1", "serviceaccounts"],
  NetworkPolicy: ["/apis/networking.k8s.io/v1", "networkpolicies"],
  // That of `helm test`.
  Pod: ["/api/v1", "pods"],
};

// Nothing here enforces the policies: what each allows is tested in test/system/deploy/chart/network-policy.test.ts.
describeWithKubernetes("an API server with the chart's network policies", (kubeconfig) => {
  describeWithHelm("of a worker that runs Jobs", () => {
    const namespace = `pbnj-policies-${randomUUID().slice(0, 8)}`;
    const within = (group: string, resource: string) => `${group}/namespaces/${namespace}/${resource}`;
    let lab: RuntimeLab;
    beforeAll(async () => {
      const access = accessFromKubeconfig(kubeconfig);
      lab = await RuntimeLab.start({ control: access, worker: access, namespace });
      await lab.client.create("/api/v1/namespaces", {
        metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
      });
    });
    afterAll(async () => {
      await lab?.client.delete(`/api/v1/namespaces/${namespace}`);
      await lab?.close();
    });

    async function podsWith(labels: Readonly<Record<string, string>>): Promise<readonly string[]> {
      const selector = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      const path = `${within("/api/v1", "pods")}?labelSelector=${encodeURIComponent(selector.join())}`;
      return (await lab.client.list(path)).items.map(({ metadata }) => metadata.name ?? "");
    }

    it("keeps them, and each selects its pods alone: the worker's, those of actions, that of helm test", async () => {
      const { chart } = await renderAll({ chart: mergeValues(needed, { agentIds: ["rack-1"] }) });
      const create = (root: string, object: { readonly metadata: object }) => {
        const metadata = { ...object.metadata, namespace };
        return lab.client.create(`${root}?fieldValidation=Strict`, { ...object, metadata });
      };
      for (const [kind, root] of Object.entries(ROOTS))
        for (const manifest of allOf(chart, [kind], Manifest)) await create(within(...root), manifest);
      // The worker's pod, like the one that the Deployment's controller creates.
      const [worker] = allOf(chart, ["Deployment"], Deployment).map(({ spec }) => spec.template);
      const pods = within("/api/v1", "pods");
      if (!worker) throw new Error("the chart makes no Deployment");
      await create(pods, { ...worker, metadata: { ...worker.metadata, name: "worker" } });
      await create(pods, { ...worker, metadata: { name: "stranger", labels: { app: "stranger" } } });
      // An action's pod, created by the worker with the chart's settings and by Kubernetes' own Job controller.
      const { runtime: settings } = configIn(chart);
      if (settings.kind !== "kubernetes") throw new Error(`the runtime is ${settings.kind}`);
      const runtime = await lab.runtime({ pods: { labels: settings.labels } });
      const { request } = scriptedRequest([], { connected: true });
      const { ended } = begin(runtime, request);
      const action = await lab.startPod(request);

      const { items } = await lab.client.list(within("/apis/networking.k8s.io/v1", "networkpolicies"));
      const kept = items.map((item) => Policy.parse(item));
      const selected = await Promise.all(kept.map(({ spec }) => podsWith(spec.podSelector.matchLabels)));
      expect(selected.toSorted()).toEqual([[action.metadata.name], ["worker"]].toSorted());
      for (const { spec } of kept) expect(spec.policyTypes).toEqual(["Ingress", "Egress"]);
      const sources = kept.flatMap(({ spec }) => spec.ingress.flatMap(({ from }) => from));
      await expect(
        Promise.all(sources.map(({ podSelector }) => podsWith(podSelector.matchLabels))),
      ).resolves.toEqual([[expect.stringContaining("test")]]);

      await lab.kubelet.finish(action, { container: "action", exitCode: 0 });
      await ended;
    });
  });
});
