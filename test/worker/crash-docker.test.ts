import { afterAll, beforeAll, expect, test } from "vitest";
import { LABEL } from "../../worker/runtime/docker/spec.ts";
import { isOver } from "../simulators/tink/workflow.ts";
import { buildActionImages } from "../support/action-images.ts";
import { describeWithDocker, dockerCli, dockerSocketPath, removeContainers } from "../support/docker.ts";
import { EngineGate, type Side } from "../support/engine-gate.ts";
import type { WorkerProgram } from "../support/worker-program.ts";
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
      await lab[Symbol.asyncDispose]();
      await gate.close();
    },
  };
}

/** The IDs of the containers with this label, running or not. */
async function labelled(label: string): Promise<readonly string[]> {
  const text = await dockerCli("ps", "--all", "--quiet", "--filter", `label=${label}`);
  return text.split("\n").filter((id) => id !== "");
}

/** Those that were launched from the lab's state directory. */
async function containers(lab: CrashLab): Promise<readonly string[]> {
  return labelled(`${LABEL.state}=${await lab.stateId()}`);
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
  afterAll(async () => {
    await removeContainers(...(await labelled(`${LABEL.agent}=pbnj-node-01`)));
  });

  const journalSteps = ["launching", "launched", "ended", "acknowledged"];
  const points = journalSteps.flatMap((step) => [`before ${step}`, `after ${step}`]);

  test.concurrent.each(points)(
    "%s, at every action, does each action once",
    { timeout: RUN_MS },
    async (point) => {
      await using docker = await dockerLab();
      const { lab } = docker;
      const workflow = lab.submit(steps);

      const worker = await lab.keepRunning(workflow, steps.length, () => lab.startToDie(point));

      expectDoneOnce(lab, workflow);
      await expectNoneLeft(lab, worker);
    },
  );

  const calls: readonly (readonly [Side, string, RegExp])[] = [
    ["before", "create", /^POST .*\/containers\/create\?/],
    ["after", "create", /^POST .*\/containers\/create\?/],
    ["before", "start", /^POST .*\/start /],
    ["after", "start", /^POST .*\/start /],
    ["before", "removal", /^DELETE /],
    ["after", "removal", /^DELETE /],
  ];

  test.concurrent.each(calls)(
    "%s the engine's %s, in every other action, does each action once",
    {
      timeout: RUN_MS,
    },
    async (side, _, request) => {
      await using docker = await dockerLab();
      const { lab, gate } = docker;
      const workflow = lab.submit(steps);
      const deaths = 2;
      let killed = 0;
      const start = () => {
        const worker = lab.start();
        // The worker that comes back is let be at the action it finds; the next one ends it again.
        if (killed < deaths) {
          killed += 1;
          void gate.stopNext(side, request).then(() => worker.kill("SIGKILL"));
        }
        return worker;
      };

      const worker = await lab.keepRunning(workflow, deaths, start);

      expectDoneOnce(lab, workflow);
      await expectNoneLeft(lab, worker);
    },
  );

  test.concurrent("while the machine obeys adopts the container and reports its own words", {
    timeout: RUN_MS,
  }, async () => {
    await using docker = await dockerLab({
      machine: { powerOnMs: 1_500, powerOffMs: 1_500, cycleOffMs: 500 },
    });
    const { lab } = docker;
    let worker = lab.start();
    lab.machine.on("command", () => worker.kill("SIGKILL"));
    const workflow = lab.submit(steps);

    const last = await lab.keepRunning(workflow, 3, () => {
      worker = worker.child.signalCode === null ? worker : lab.start();
      return worker;
    });

    expectDoneOnce(lab, workflow);
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/^off after \d+\.\d s \(forced\) via redfish$/);
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
      const first = lab.start();
      const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
      const environment = name === "power-off" ? { MODE: "hard" } : {};
      const workflow = lab.submit([{ name, environment }]);
      await commanded;
      first.kill("SIGKILL");
      await first.ended;
      await removeContainers(...(await containers(lab)));

      const second = lab.start();
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
