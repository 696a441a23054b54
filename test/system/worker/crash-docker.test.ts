import { beforeAll, expect, test } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { LABEL } from "../../../worker/runtimes/docker/container-spec.ts";
import { buildActionImages } from "../../support/action-images.ts";
import { describeWithDocker, dockerCli, dockerSocketPath, removeContainers } from "../../support/docker.ts";
import { EngineGate, type Side } from "../../support/engine-gate.ts";
import type { WorkerProgram } from "../../support/worker-program.ts";
import { type CrashLab, crashLab, eventuallyEmpty, expectDoneOnce, steps } from "./crash-lab.ts";

const RUN_MS = 240_000;
const registry = "localhost/pbnj-worker-crash-test";

/** A lab whose workers run actions in containers, through an engine that can be stopped at any call. */
async function dockerLab(options: Parameters<typeof crashLab>[0] = {}) {
  const gate = await EngineGate.open(dockerSocketPath);
  const lab = await crashLab({
    ...options,
    registry,
    argv: [
      ...["--runtime", "docker", "--docker-socket", gate.socketPath, "--pull-policy", "never"],
      "--unsafe-any-image",
      // The simulators listen on loopback, which is the host's.
      ...["--docker-network", "host"],
    ],
  });
  return {
    gate,
    lab,
    async [Symbol.asyncDispose]() {
      await removeContainers(...(await containers(lab)));
      await lab[Symbol.asyncDispose]();
      await gate.close();
    },
  };
}

/** The IDs of the containers that were launched from the lab's state directory, running or not. */
async function containers(lab: CrashLab): Promise<readonly string[]> {
  const label = `${LABEL.state}=${await lab.stateId()}`;
  const text = await dockerCli("ps", "--all", "--quiet", "--filter", `label=${label}`);
  return text.split("\n").filter((id) => id !== "");
}

async function expectNoneLeft(lab: CrashLab, worker: WorkerProgram): Promise<void> {
  await eventuallyEmpty(() => containers(lab));
  await lab.expectNothingLeft(worker);
}

describeWithDocker("a worker with the docker runtime that is killed", () => {
  beforeAll(async () => {
    await buildActionImages(
      registry,
      steps.map(({ name }) => name),
    );
  }, 300_000);

  test.concurrent("at any call to the engine does each action once", { timeout: RUN_MS }, async () => {
    await using docker = await dockerLab();
    const { lab, gate } = docker;
    const calls: readonly (readonly [Side, RegExp])[] = [
      ["before", /^POST .*\/containers\/create\?/],
      ["after", /^POST .*\/containers\/create\?/],
      ["before", /^POST .*\/start /],
      ["after", /^POST .*\/start /],
      ["before", /^DELETE /],
      ["after", /^DELETE /],
    ];
    const left = [...calls];
    const workflow = lab.submit(steps);

    const last = await lab.keepRunning(workflow, calls.length, () => {
      const worker = lab.startProcess();
      const [call] = left.splice(0, 1);
      if (call) void gate.stopNext(...call).then(() => worker.kill("SIGKILL"));
      return worker;
    });

    expectDoneOnce(lab, workflow);
    await expectNoneLeft(lab, last);
  });

  test.concurrent("while the machine obeys adopts the container and reports its result", {
    timeout: RUN_MS,
  }, async () => {
    await using docker = await dockerLab({ machine: { powerOffMs: 1_500 } });
    const { lab } = docker;
    let worker = lab.startProcess();
    lab.machine.on("command", () => worker.kill("SIGKILL"));
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "hard" } }]);

    const last = await lab.keepRunning(workflow, 1, () => {
      worker = worker.child.signalCode === null ? worker : lab.startProcess();
      return worker;
    });

    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/^off after \d+\.\d s \(forced\) via redfish$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    await expectNoneLeft(lab, last);
  });

  test.concurrent.each([
    ["power-cycle", "FAILED", "cycle"],
    ["power-off", "SUCCESS", "off"],
  ] as const)(
    "and whose %s's container was taken away meanwhile ends the workflow as %s",
    {
      timeout: RUN_MS,
    },
    async (name, state, command) => {
      await using docker = await dockerLab({ machine: { powerOffMs: 300 } });
      const { lab } = docker;
      const first = lab.startProcess();
      const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
      const environment = name === "power-off" ? { MODE: "hard" } : {};
      const workflow = lab.submit([{ name, environment }]);
      await commanded;
      first.kill("SIGKILL");
      await first.ended;
      // An engine may refuse to remove a container that is just ending.
      await eventuallyEmpty(async () => {
        const left = await containers(lab);
        await removeContainers(...left);
        return left;
      });

      const second = lab.startProcess();
      await lab.server.until(() => isOver(workflow));

      const { message } = workflow.tasks[0]?.actions[0] ?? {};
      expect(workflow.state, message).toBe(state);
      expect(message).toMatch(
        state === "FAILED" ? /container is gone; .* not run again$/ : /^(already )?off /,
      );
      expect(lab.machine.commands.map(({ action }) => action)).toEqual([command]);
      await expectNoneLeft(lab, second);
    },
  );
});
