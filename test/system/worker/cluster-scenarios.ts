import { expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { templateOf } from "../../support/lab.ts";
import type { ClusterLabOptions, clusterLab } from "./cluster-lab.ts";

type Lab = Awaited<ReturnType<typeof clusterLab>>;

export const REBOOT = [{ name: "power-off" }, { name: "set-pxe-once" }, { name: "power-on" }] as const;
export const WITHIN_MS = 90_000;
export const TEST = { timeout: 150_000 };
export const IN_TIME = { timeout: 60_000, interval: 20 };

const commandsOf = (lab: Lab) => lab.machines.map(({ commands }) => commands.map(({ action }) => action));
const ONCE = ["soft-off", "on"];

/** What a worker that dies leaves to the next one, in a cluster, real or fake. */
export function itSurvivesInACluster(open: (options: ClusterLabOptions) => Promise<Lab>): void {
  test(
    "takes over the Job of a worker that died with all that it knew, and does nothing twice",
    TEST,
    async () => {
      await using lab = await open({ softOffMs: 2_500 });
      const first = lab.startProcess();
      const workflow = await lab.submit("node-01", REBOOT);
      await vi.waitFor(() => expect(lab.machines[0]?.commands).toHaveLength(1), IN_TIME);

      first.kill("SIGKILL");
      await first.ended;
      const second = lab.start();
      await lab.server.until(() => isOver(workflow), WITHIN_MS);

      expect(workflow.state).toBe("SUCCESS");
      expect(commandsOf(lab)).toEqual([ONCE]);
      expect(await lab.jobs()).toHaveLength(3);
      await second.untilLogged("action adopted");
    },
  );

  test("follows a leader, and continues its actions after it was killed", TEST, async () => {
    await using lab = await open({ machines: 4, powerOffMs: "held" });
    const leader = lab.startProcess(["--leader-election"]);
    await leader.untilLogged("leading");
    const follower = lab.startProcess(["--leader-election"]);
    await follower.untilLogged("another worker leads, waiting");
    const steps = [{ name: "power-off" }, { name: "power-on" }];
    const workflows = await Promise.all(lab.machines.map(({ name }) => lab.submit(name, steps)));
    await vi.waitFor(() => expect(commandsOf(lab).every(({ length }) => length > 0)).toBe(true), IN_TIME);

    leader.kill("SIGKILL");
    const killedMs = Date.now();
    await follower.untilLogged("leading");
    const tookMs = Date.now() - killedMs;
    for (const machine of lab.machines) machine.finishPowerOff();
    await lab.server.until(() => workflows.every(isOver), WITHIN_MS);

    expect(tookMs).toBeLessThan(20_000);
    expect(workflows.map(({ state }) => state)).toEqual(workflows.map(() => "SUCCESS"));
    expect(commandsOf(lab)).toEqual(workflows.map(() => ONCE));
    expect(leader.log.map(({ msg }) => msg)).toContain("action started");
    expect(follower.log.map(({ msg }) => msg)).toContain("action adopted");
  });
}

/** What a worker does in a real cluster. In a fake one, tests of the features prove it. */
export function itWorksInACluster(open: (options: ClusterLabOptions) => Promise<Lab>): void {
  test("runs a workflow as Jobs", TEST, async () => {
    await using lab = await open({});
    const worker = lab.startProcess();

    const workflow = await lab.submit("node-01", REBOOT);
    await lab.server.until(() => isOver(workflow), WITHIN_MS);
    worker.kill("SIGTERM");
    const { code } = await worker.ended;

    expect(workflow.state).toBe("SUCCESS");
    expect(workflow.tasks[0]?.actions.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^off after .* via redfish$/),
      expect.stringMatching(/^boot pxe once .* via redfish$/),
      expect.stringMatching(/^on after .* via redfish$/),
    ]);
    expect(commandsOf(lab)).toEqual([ONCE]);
    expect(code).toBe(0);
    expect(await lab.jobs()).toHaveLength(3);
  });

  test(
    "detaches from the running action when it is rolled, and the next one reports its end",
    TEST,
    async () => {
      await using lab = await open({ softOffMs: 4_000 });
      const first = lab.start();
      const workflow = await lab.submit("node-01", REBOOT);
      await vi.waitFor(() => expect(lab.machines[0]?.commands).toHaveLength(1), IN_TIME);

      first.kill("SIGTERM");
      const { code } = await first.ended;
      const reported = workflow.tasks[0]?.actions[0]?.state;
      lab.start();
      await lab.server.until(() => isOver(workflow), WITHIN_MS);

      expect(code).toBe(0);
      expect(first.log.map(({ msg }) => msg)).toContain("detached from action");
      expect(reported).toBe("RUNNING");
      expect(workflow.state).toBe("SUCCESS");
      expect(commandsOf(lab)).toEqual([ONCE]);
    },
  );

  test("lets a follower lead at once when it is rolled, while its action runs on", TEST, async () => {
    await using lab = await open({ softOffMs: 4_000 });
    const first = lab.start(["--leader-election", "--shutdown-grace", "1m"]);
    await first.untilLogged("leading");
    const second = lab.start(["--leader-election"]);
    await second.untilLogged("another worker leads, waiting");
    const workflow = await lab.submit("node-01", REBOOT);
    await vi.waitFor(() => expect(lab.machines[0]?.commands).toHaveLength(1), IN_TIME);

    first.kill("SIGTERM");
    const toldMs = Date.now();
    await second.untilLogged("leading");
    const tookMs = Date.now() - toldMs;
    const { code } = await first.ended;
    await lab.server.until(() => isOver(workflow), WITHIN_MS);

    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5_000);
    expect(workflow.state).toBe("SUCCESS");
    expect(commandsOf(lab)).toEqual([ONCE]);
  });

  test("runs a template by hand, with machine and Jobs of the cluster", TEST, async () => {
    await using lab = await open({});
    const path = await lab.write("template.yaml", templateOf("pbnj-node-01", { name: "power-off" }));
    await using program = new CommandInProcess([
      ...["run", path, "--runtime", "kubernetes", "--kubernetes-inventory", "machines"],
      ...["--kubeconfig", lab.kubeconfig, "--kubernetes-namespace", lab.namespace, "--policy", lab.policy],
    ]);

    const { code } = await program.ended;

    expect(program.stdout).toMatch(/off after .* via redfish/);
    expect(code).toBe(0);
    expect(commandsOf(lab)).toEqual([["soft-off"]]);
  });

  test("does a Job of Rufio's, and keeps the status of its Machine", TEST, async () => {
    await using lab = await open({});
    const worker = lab.start([
      "--rufio",
      "--rufio-alone",
      "--rufio-image",
      "registry.example/pbnj-worker/{action}:{version}",
    ]);
    await worker.untilLogged("Rufio lease is free, taking over");

    const job = await lab.submitToRufio("netboot", "node-01", [
      { powerAction: "off" },
      { bootDevice: { device: "pxe", efiBoot: true } },
      { powerAction: "on" },
    ]);

    await vi.waitFor(async () => {
      expect((await job()).status).toMatchObject({
        conditions: expect.arrayContaining([expect.objectContaining({ type: "Completed", status: "True" })]),
        completionTime: expect.any(String),
      });
    }, IN_TIME);
    const [machine] = lab.machines;
    expect(machine?.commands.map(({ action }) => action)).toEqual(["off", "on"]);
    expect(machine?.lastBoot).toMatchObject({ device: "pxe", overridden: true });
    const machinePath = `/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${lab.namespace}/machines/node-01`;
    await vi.waitFor(async () => {
      expect((await lab.client.get(machinePath)).status).toMatchObject({
        powerState: "on",
        conditions: [expect.objectContaining({ type: "Contactable", status: "True" })],
      });
    }, IN_TIME);
  });
}
