import { describe, test } from "vitest";
import { z } from "zod";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { freePort } from "../../support/free-port.ts";
import { openLab, openLegacyLab } from "../../support/lab.ts";

const MISTAKE = "workflow has a mistake";

describe.concurrent("mistakes in a workflow are logged before its first command", () => {
  test("over the deprecated API, which lists the actions of a workflow", async ({ expect }) => {
    await using lab = await openLegacyLab();
    const worker = await lab.start();
    const MACHINE = "node-01";

    const workflow = lab.submit(
      "pbnj",
      { name: "power-status", environment: { MACHINE } },
      { name: "power-off", environment: { MACHINE, MODE: "soft-then-hrad" } },
      { name: "set-pxe-onec", environment: { MACHINE } },
      { name: "power-on", worker: "pbjn", environment: { MACHINE } },
    );
    await worker.untilLogged(MISTAKE, { action: "set-pxe-onec" });

    const found = worker.log.filter(({ msg }) => msg === MISTAKE);
    expect(found.map(({ action, reason }) => [action, reason])).toEqual([
      ["power-on", expect.stringContaining("no machine has the agent ID pbjn, did you mean pbnj?")],
      ["power-off", expect.stringMatching(/MODE.*soft-then-hrad/)],
      ["set-pxe-onec", expect.stringContaining("did you mean set-pxe-once?")],
    ]);
    expect(lab.machine().commands).toEqual([]);
    await lab.untilOver(workflow);
    expect(workflow.state).toBe("FAILED");
  });

  test("of a Workflow that the cluster shows, until it ends", async ({ expect }) => {
    await using lab = await openLab();
    const namespace = "tink-system";
    const { fake, kubeconfig } = await openFakeCluster({ controllers: false, namespace }, lab);
    const WORKFLOW = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
    const image = "registry.example/pbnj-worker";
    const action = (name: string, environment = {}) => ({
      ...{ id: name, name, image: `${image}/${name}:v1`, timeout: 60, environment },
    });
    const tasks = [
      { id: "1", name: "off", agentID: "pbnj-node-01", actions: [action("power-off", { MODE: "hrad" })] },
      // Another worker's machine, and its own images and variables.
      { id: "2", name: "os", agentID: "52:54:00:11:22:33", actions: [action("write-image", { MODE: "x" })] },
      { id: "3", name: "on", agentID: "pbj-node-01", actions: [action("power-on")] },
    ];
    fake.create(...WORKFLOW, { metadata: { name: "install", namespace }, spec: { templateRef: "t" } });
    fake.patchStatus(...WORKFLOW, "install", { state: "PENDING", agentID: "pbnj-node-01", tasks }, namespace);
    const address = `127.0.0.1:${await freePort()}`;
    const argv = ["--kubeconfig", kubeconfig, "--wake-up", "on", "--http-address", address];
    const worker = await lab.start(argv);
    const shown = async () => {
      const { workflowProblems } = z
        .object({ workflowProblems: z.array(z.object({ action: z.string() })) })
        .parse(await (await fetch(`http://${address}/status.json`)).json());
      return workflowProblems.map(({ action }) => action);
    };

    await worker.untilLogged(MISTAKE, { action: "power-off" });

    const found = worker.log.filter(({ msg }) => msg === MISTAKE);
    expect(found.map(({ workflow, task, reason }) => [workflow, task, reason])).toEqual([
      [`${namespace}/install`, "on", expect.stringContaining("did you mean pbnj-node-01?")],
      [`${namespace}/install`, "off", expect.stringContaining("MODE")],
    ]);
    expect(await shown()).toEqual(["power-on", "power-off"]);
    fake.patchStatus(...WORKFLOW, "install", { state: "FAILED", agentID: "pbnj-node-01", tasks }, namespace);
    await expect.poll(shown).toEqual([]);
  });
});
