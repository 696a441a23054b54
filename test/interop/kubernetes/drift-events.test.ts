import { expect, test } from "vitest";
import type { KubeObject } from "../../../simulators/kubernetes/cluster.ts";
import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { clusterLab } from "../../system/worker/cluster-lab.ts";
import { chartRights } from "./chart-rights.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const TEST = { timeout: 300_000 };
/** Longer than two intervals and the quiet time. */
const WAIT = { timeout: 200_000, interval: 500 };

describeWithKubernetes("a Machine with a desired state", (kubeconfig) => {
  describeWithHelm("in a cluster with the rights of the chart", () => {
    test(
      "gets an event when it drifts, when the worker corrects it, and when the drift ends",
      TEST,
      async () => {
        const rules = await chartRights();
        await using lab = await clusterLab({ rules, real: { kubeconfig, hasJobController: true } });
        const [machine] = lab.machines;
        const machines = `/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${lab.namespace}/machines`;
        const annotations = { "pbnj-worker/desired": "power: on\nenforce: true" };
        const { metadata } = await lab.client.patch(`${machines}/node-01`, { metadata: { annotations } });
        const selector = "fieldSelector=involvedObject.kind%3DMachine";
        const events = async () =>
          (await lab.client.list(`/api/v1/namespaces/${lab.namespace}/events?${selector}`)).items;
        machine?.do("off");
        lab.start([
          ...["--drift-interval", "1m", "--drift-quiet-time", "1m"],
          ...["--drift-image", "registry.example/pbnj-worker/{action}:test"],
        ]);

        await expect
          .poll(async () => (await events()).map(reasonOf).toSorted(), WAIT)
          .toEqual(["Correcting", "DriftEnded", "Drifted"]);

        const involvedObject = {
          name: "node-01",
          uid: metadata.uid,
          apiVersion: "bmc.tinkerbell.org/v1alpha1",
        };
        for (const event of await events())
          expect(event).toMatchObject({ involvedObject, count: 1, source: { component: "pbnj-worker" } });
      },
    );
  });
});

const reasonOf = ({ reason }: KubeObject & { readonly reason?: unknown }): string => String(reason);
