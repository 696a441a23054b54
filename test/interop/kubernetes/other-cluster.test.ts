import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accessFromKubeconfig } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { clusterLab, PASSWORD } from "../../system/worker/cluster-lab.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const TEST = { timeout: 120_000 };
const WITHIN_MS = 60_000;
const PAUSED = "cluster.x-k8s.io/paused";

describeWithKubernetes("a worker with machines of another cluster", (kubeconfig) => {
  test(
    "runs workflows for machines of another cluster, leaves paused ones alone, and follows a move",
    TEST,
    async () => {
      await using lab = await clusterLab({ machines: 0, real: { kubeconfig, hasJobController: true } });
      const machine = new SimulatedMachine({ name: "node-9", power: "on" });
      await using bmc = await startRedfishBmc({ machines: [machine], password: PASSWORD });
      const namespace = `pbnj-other-${randomUUID().slice(0, 8)}`;
      await lab.client.create("/api/v1/namespaces", { metadata: { name: namespace } });
      const secrets = `/api/v1/namespaces/${lab.namespace}/secrets`;
      // Another namespace plays the other cluster: only the kubeconfig says where the machines are.
      const pointingTo = (place: string) => ({
        stringData: { kubeconfig: kubeconfigOf(accessFromKubeconfig(kubeconfig), place) },
      });
      await lab.client.create(secrets, { metadata: { name: "edge" }, ...pointingTo(namespace) });
      const createMachine = async (place: string): Promise<string> => {
        const login = { name: "node-9", namespace: place };
        await lab.client.create(`/api/v1/namespaces/${place}/secrets`, {
          metadata: { name: login.name },
          stringData: { username: "admin", password: PASSWORD },
        });
        const machines = `/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${place}/machines`;
        const providerOptions = { preferredOrder: ["gofish"], redfish: { port: bmc.port } };
        await lab.client.create(machines, {
          apiVersion: "bmc.tinkerbell.org/v1alpha1",
          kind: "Machine",
          metadata: { name: login.name },
          spec: {
            connection: { host: "127.0.0.1", insecureTLS: true, authSecretRef: login, providerOptions },
          },
        });
        return `${machines}/${login.name}`;
      };
      const run = async (action: string): Promise<string> => {
        const workflow = await lab.submit("edge-node-9", [{ name: action }]);
        await lab.server.until(() => isOver(workflow), WITHIN_MS);
        return `${workflow.state}: ${workflow.tasks[0]?.actions[0]?.message}`;
      };
      const there = await createMachine(namespace);
      const config = join(lab.folder, "worker.yaml");
      await writeFile(
        config,
        JSON.stringify({
          kubernetesSources: [{ name: "edge", identityRef: { name: "edge" }, prefix: "edge-" }],
        }),
      );
      const worker = lab.start(["--config", config]);
      await worker.untilLogged("machine source connected", { source: "edge" });

      expect(await run("power-off")).toMatch(/^SUCCESS: off after .* via redfish$/);

      await lab.client.patch(there, { metadata: { annotations: { [PAUSED]: "true" } } });
      await worker.untilLogged("paused machine left alone", { machine: "edge-node-9" });
      expect(await run("power-on")).toContain(`is paused: no reason given (annotation ${PAUSED} of Machine `);
      expect(machine.power).toBe("off");

      // The move: the object appears in the new place, the Secret follows, and the old object is deleted.
      await createMachine(lab.namespace);
      await lab.client.patch(`${secrets}/edge`, pointingTo(lab.namespace));
      await worker.untilLogged("machine source reconnected", { source: "edge" });
      await lab.client.delete(there);
      expect(await run("power-on")).toMatch(/^SUCCESS: on after .* via redfish$/);
      await lab.client.delete(`/api/v1/namespaces/${namespace}`);
      expect(worker.stderr).not.toContain(PASSWORD);
    },
  );
});
