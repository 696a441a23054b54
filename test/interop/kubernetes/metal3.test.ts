import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { clusterLab } from "../../system/worker/cluster-lab.ts";
import { METAL3, stateOf } from "../../worker/features/cluster-machines/host-lab.ts";
import { type Host, nextPower } from "../../worker/features/metal3/operator.ts";
import { chartRights } from "./chart-rights.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const TEST = { timeout: 120_000 };
const WITHIN_MS = 60_000;

describeWithKubernetes("a worker with hosts of Metal3", (kubeconfig) => {
  describeWithHelm("in a cluster with the rights of the chart", () => {
    test("changes the power of a host that Metal3 manages, through its BareMetalHost", TEST, async () => {
      const rules = await chartRights({
        inventory: { kubernetes: ["baremetalhosts"] },
        metal3: { managed: "via-host" },
      });
      await using lab = await clusterLab({
        machines: 0,
        rules,
        real: { kubeconfig, hasJobController: true },
      });
      const hosts = `/apis/${METAL3}/namespaces/${lab.namespace}/baremetalhosts`;
      await lab.client.create(`/api/v1/namespaces/${lab.namespace}/secrets`, {
        metadata: { name: "one-bmc" },
        stringData: { username: "root", password: "calvin" },
      });
      await lab.client.create(hosts, {
        apiVersion: METAL3,
        kind: "BareMetalHost",
        metadata: { name: "one" },
        spec: { online: true, bmc: { address: "redfish://192.0.2.7/Systems/1", credentialsName: "one-bmc" } },
      });
      await lab.client.patch(`${hosts}/one/status`, { status: stateOf("provisioned") });
      await using operator = startOperator(lab.client, `${hosts}/one`);
      lab.start(["--kubernetes-inventory", "baremetalhosts", "--metal3-managed", "via-host"]);
      const run = async (name: string, environment = {}) => {
        const workflow = await lab.submit("one", [{ name, environment }]);
        await lab.server.until(() => isOver(workflow), WITHIN_MS);
        return `${workflow.state}: ${workflow.tasks[0]?.actions[0]?.message}`;
      };

      expect(await run("power-off", { MODE: "hard" })).toMatch(/^SUCCESS: off after .* via metal3$/);
      expect(await run("power-on")).toMatch(/^SUCCESS: on after .* via metal3$/);
      expect(await run("power-cycle")).toMatch(/^SUCCESS: .* via metal3$/);

      expect(operator.changes).toEqual(["forced off", "on", "forced off", "on"]);
      const { metadata } = await lab.client.get(`${hosts}/one`);
      expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith("reboot."))).toEqual([]);
    });
  });
});

/** Changes the host's power as Metal3's operator does. */
function startOperator(
  client: ClusterClient,
  host: string,
): { readonly changes: string[] } & AsyncDisposable {
  const changes: string[] = [];
  let isStopped = false;
  const work = (async () => {
    while (!isStopped) {
      const next = nextPower((await client.get(host)) as Host);
      if (next) {
        const { poweredOn, forced } = next;
        changes.push(poweredOn ? "on" : forced ? "forced off" : "off");
        await client.patch(`${host}/status`, { status: { poweredOn } });
      }
      await sleep(100);
    }
  })();
  return {
    changes,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await work;
    },
  };
}
