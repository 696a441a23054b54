import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { isOver } from "../simulators/tink/workflow.ts";
import { clusterLab, PASSWORD } from "./cluster-lab.ts";

const REBOOT = [{ name: "power-off" }, { name: "set-pxe-once" }, { name: "power-on" }] as const;
const WITHIN_MS = 90_000;
const TEST = { timeout: 150_000 };
const IN_TIME = { timeout: 60_000, interval: 20 };

const inNamespace = (namespace: string) => ({ namespaces: [namespace] });

/** What the chart grants for the runtime, Machines and waking up: above all no right to read a Secret. */
function fewestRules(namespace: string) {
  const here = inNamespace(namespace);
  const watched = ["list", "watch"];
  return [
    {
      apiGroups: ["batch"],
      resources: ["jobs"],
      verbs: ["create", "get", "list", "watch", "patch", "delete"],
      ...here,
    },
    { apiGroups: [""], resources: ["pods"], verbs: [...watched, "delete"], ...here },
    { apiGroups: [""], resources: ["pods/log"], verbs: ["get"], ...here },
    { apiGroups: [""], resources: ["events"], verbs: ["list"], ...here },
    { apiGroups: ["bmc.tinkerbell.org"], resources: ["machines"], verbs: watched, ...here },
    { apiGroups: ["tinkerbell.org"], resources: ["workflows"], verbs: watched, ...here },
  ];
}

describe("a worker in a cluster", () => {
  test(
    "runs a workflow as Jobs, without the right to read a Secret, and leaves no password anywhere",
    TEST,
    async () => {
      await using lab = await clusterLab({ rules: fewestRules("tink-system") });
      const worker = lab.start();

      const workflow = lab.submit("node-01", REBOOT);
      await lab.server.until(() => isOver(workflow), WITHIN_MS);
      worker.kill("SIGTERM");
      const { code } = await worker.ended;

      expect(workflow.state).toBe("SUCCESS");
      expect(workflow.tasks[0]?.actions.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^off after .* via redfish$/),
        expect.stringMatching(/^boot pxe once .* via redfish$/),
        expect.stringMatching(/^on after .* via redfish$/),
      ]);
      expect(lab.machines[0]?.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
      expect(code).toBe(0);
      expect(lab.jobs()).toHaveLength(3);
      const sent = lab.cluster.requests.filter(({ userAgent }) => userAgent.startsWith("pbnj-worker/"));
      expect(sent.filter(({ resource }) => resource === "secrets")).toEqual([]);
      expect(JSON.stringify([sent, lab.jobs(), lab.cluster.list("v1", "Pod", lab.namespace)])).not.toContain(
        PASSWORD,
      );
      expect(worker.stderr).not.toContain(PASSWORD);
      expect(JSON.stringify(lab.server.reports)).not.toContain(PASSWORD);
    },
  );

  test(
    "takes over the Job of a worker that died with all that it knew, and does nothing twice",
    TEST,
    async () => {
      await using lab = await clusterLab({ softOffMs: 4_000 });
      const first = lab.start();
      const workflow = lab.submit("node-01", REBOOT);
      await vi.waitFor(() => expect(lab.machines[0]?.commands).toHaveLength(1), IN_TIME);

      first.kill("SIGKILL");
      await first.ended;
      const second = lab.start();
      await lab.server.until(() => isOver(workflow), WITHIN_MS);

      expect(workflow.state).toBe("SUCCESS");
      expect(lab.machines[0]?.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
      expect(lab.jobs()).toHaveLength(3);
      await second.untilLogged("action adopted");
    },
  );

  test(
    "lets go of the action that runs when it is rolled, and the next one reports its end",
    TEST,
    async () => {
      await using lab = await clusterLab({ softOffMs: 6_000 });
      const first = lab.start();
      const workflow = lab.submit("node-01", REBOOT);
      await vi.waitFor(() => expect(lab.machines[0]?.commands).toHaveLength(1), IN_TIME);

      first.kill("SIGTERM");
      const { code } = await first.ended;
      const reported = workflow.tasks[0]?.actions[0]?.state;
      lab.start();
      await lab.server.until(() => isOver(workflow), WITHIN_MS);

      expect(code).toBe(0);
      expect(first.log.map(({ msg }) => msg)).toContain("action let go of: it runs on");
      expect(reported).toBe("RUNNING");
      expect(workflow.state).toBe("SUCCESS");
      expect(lab.machines[0]?.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
    },
  );

  test("polls at once when a Workflow is addressed to its lane, and rests otherwise", TEST, async () => {
    await using lab = await clusterLab({ machines: 3 });
    const worker = lab.start();
    await worker.untilLogged("worker started");
    const resting = () => lab.server.polls.length;
    await vi.waitFor(() => expect(resting()).toBeGreaterThanOrEqual(3), IN_TIME);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    const before = resting();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(resting()).toBe(before);

    const workflow = lab.submit("node-02", [{ name: "power-status" }]);
    lab.cluster.create("tinkerbell.org/v1alpha1", "Workflow", {
      metadata: { namespace: lab.namespace, name: "w" },
      spec: { templateRef: "t" },
    });
    const status = { state: "PENDING", agentID: "pbnj-node-02" };
    lab.cluster.patchStatus("tinkerbell.org/v1alpha1", "Workflow", "w", status, lab.namespace);
    await lab.server.until(() => isOver(workflow), WITHIN_MS);

    expect(workflow.state).toBe("SUCCESS");
  });

  test("says in one line which file of the connection is wrong, and starts nothing", TEST, async () => {
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

describe("two replicas of a worker", () => {
  test("share the lanes, and one goes on with what the other one was at when it died", TEST, async () => {
    await using lab = await clusterLab({ machines: 4, softOffMs: 3_000 });
    const replicas = [lab.start(["--share-lanes"]), lab.start(["--share-lanes"])];
    const workflows = lab.machines.map(({ name }) => lab.submit(name, REBOOT));
    await vi.waitFor(
      () => expect(lab.machines.every(({ commands }) => commands.length > 0)).toBe(true),
      IN_TIME,
    );

    replicas[0]?.kill("SIGKILL");
    await lab.server.until(() => workflows.every(isOver), WITHIN_MS);

    expect(workflows.map(({ state }) => state)).toEqual(workflows.map(() => "SUCCESS"));
    for (const { commands } of lab.machines)
      expect(commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
  });
});
