import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { clusterLab, PASSWORD } from "./cluster-lab.ts";
import { IN_TIME, itSurvivesInACluster, REBOOT, TEST, WITHIN_MS } from "./cluster-scenarios.ts";
import { itUsesDiscoveredMachines } from "./discovered-machines.ts";

/** What the chart grants for the runtime, Machines and waking up: above all no right to read a Secret. */
function fewestRules(namespace: string) {
  const watched = ["list", "watch"];
  const jobs = ["create", "get", ...watched, "patch", "delete"];
  return [
    { apiGroups: ["batch"], resources: ["jobs"], verbs: jobs },
    { apiGroups: [""], resources: ["pods"], verbs: [...watched, "delete"] },
    { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
    { apiGroups: [""], resources: ["events"], verbs: ["list"] },
    { apiGroups: ["bmc.tinkerbell.org"], resources: ["machines"], verbs: watched },
    { apiGroups: ["tinkerbell.org"], resources: ["workflows"], verbs: watched },
  ].map((rule) => ({ ...rule, namespaces: [namespace] }));
}

describe("a worker in a cluster", () => {
  itSurvivesInACluster(clusterLab);
  itUsesDiscoveredMachines(clusterLab);

  test("needs no right to read a Secret, and leaves no password anywhere", TEST, async () => {
    await using lab = await clusterLab({ rules: fewestRules("tink-system") });
    const worker = lab.start();
    const workflow = await lab.submit("node-01", REBOOT);
    await lab.server.until(() => isOver(workflow), WITHIN_MS);

    expect(workflow.state).toBe("SUCCESS");
    const sent = lab.fake.requests.filter(({ userAgent }) => userAgent.startsWith("pbnj-worker/"));
    expect(sent.filter(({ resource }) => resource === "jobs")).not.toEqual([]);
    expect(sent.filter(({ resource }) => resource === "secrets")).toEqual([]);
    const pods = lab.fake.list("v1", "Pod", lab.namespace);
    expect(JSON.stringify([sent, await lab.jobs(), pods])).not.toContain(PASSWORD);
    expect(worker.stderr + JSON.stringify(lab.server.reports)).not.toContain(PASSWORD);
  });

  test("mounts no connection for an image that is not trusted", TEST, async () => {
    await using lab = await clusterLab();
    await writeFile(lab.policy, "images: ['**']\ntrustedImages: []\n");
    lab.start();
    const workflow = await lab.submit("node-01", [{ name: "acme-report" }]);
    await lab.server.until(() => isOver(workflow), WITHIN_MS);

    const [job] = await lab.jobs();
    expect(job).toMatchObject({ spec: { template: { spec: { volumes: [{ name: "tmp" }] } } } });
    expect(JSON.stringify(job)).toContain("acme-report");
    expect(JSON.stringify(job)).not.toMatch(
      /BMC_CONNECTION_FILE|secretName|pbnj-worker\/connection|127\.0\.0\.1/,
    );
  });

  test("polls when a Workflow is addressed to its lane, and waits otherwise", TEST, async () => {
    await using lab = await clusterLab({ machines: 3 });
    const worker = lab.start(["--http-address", "127.0.0.1:0"]);
    await worker.untilLogged("worker started");
    const polls = () => lab.server.polls.length;
    const status = async (): Promise<string> => {
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(worker.stderr)?.[0] ?? "";
      return (await fetch(`${address}/metrics`)).text();
    };
    await vi.waitFor(
      async () => expect(await status()).toMatch(/^pbnj_lanes\{state="waiting"\} 3$/m),
      IN_TIME,
    );
    const before = polls();

    const workflow = await lab.submit("node-02", [{ name: "power-status" }]);
    await lab.server.until(() => isOver(workflow), WITHIN_MS);

    expect(workflow.state).toBe("SUCCESS");
    const since = lab.server.polls.slice(before);
    expect(new Set(since)).toEqual(new Set(["pbnj-node-02"]));
  });

  test("names the invalid connection file in one line, and starts nothing", TEST, async () => {
    await using lab = await clusterLab();
    await rm(lab.kubeconfig);
    const worker = lab.start();

    const { code } = await worker.ended;

    expect(code).toBe(2);
    expect(worker.stderr.trim().split("\n")).toEqual([
      expect.stringContaining(join(lab.folder, "kubeconfig")),
    ]);
  });
});
