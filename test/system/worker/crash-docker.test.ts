import { beforeAll, test } from "vitest";
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
});
