import { beforeAll, expect, test } from "vitest";
import { actionKey } from "../../../worker/core/action/action.ts";
import { LABEL } from "../../../worker/runtimes/docker/container-spec.ts";
import { buildActionImages } from "../../support/action-images.ts";
import { describeWithDocker, dockerCli, dockerSocketPath } from "../../support/docker.ts";
import { openLegacyLab, templateOf } from "../../support/lab.ts";

const REGISTRY = "localhost/pbnj-worker-legacy-test";

describeWithDocker("a hook with the docker runtime", () => {
  beforeAll(() => buildActionImages(REGISTRY, ["power-reset"]), 300_000);

  test("is a container of the same image, of which nothing is left", { timeout: 60_000 }, async () => {
    await using lab = await openLegacyLab({ machines: { "node-01": { power: "off" } } });
    // The simulators listen on loopback, which is the host's.
    const worker = await lab.start([
      ...["--runtime", "docker", "--docker-socket", dockerSocketPath, "--unsafe-any-image"],
      ...["--pull-policy", "never", "--docker-network", "host"],
    ]);
    const workflow = lab.server.submit({
      name: lab.folder.slice(lab.folder.lastIndexOf("/") + 1).toLowerCase(),
      template: templateOf("pbnj", {
        name: "power-reset",
        image: `${REGISTRY}/power-reset:test`,
        environment: { MACHINE: "node-01" },
        onFailure: ["--on-if-off"],
      }),
    });
    await lab.server.until(() => workflow.state === "FAILED", 40_000);
    const keys = ["0/task-1/power-reset", "0/task-1/power-reset/on-failure"].map((actionId) =>
      actionKey({ workflowId: workflow.id, actionId }),
    );
    const left = () =>
      Promise.all(
        keys.map((key) => dockerCli("ps", "--all", "--quiet", "--filter", `label=${LABEL.key}=${key}`)),
      );

    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/\(state, exit 17\): .*; on-failure succeeded: /);
    expect(lab.machine().commands.map(({ action }) => action)).toEqual(["on"]);
    expect(worker.log.filter(({ msg }) => msg.startsWith("hook ")).map(({ msg }) => msg)).toEqual([
      "hook started",
      "hook succeeded",
    ]);
    // The action's own container is removed once its report is acknowledged.
    await expect.poll(left, { timeout: 10_000 }).toEqual(["", ""]);
  });
});
