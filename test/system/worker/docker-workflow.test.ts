import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { startLab } from "../../../cli/lab/lab.ts";
import { versionTag } from "../../../scripts/images/image-name.ts";
import { readManifest } from "../../../scripts/manifest.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { LABEL } from "../../../worker/runtimes/docker/container-spec.ts";
import { buildActionImages } from "../../support/action-images.ts";
import { describeWithDocker, dockerCli, dockerSocketPath } from "../../support/docker.ts";
import { EngineGate } from "../../support/engine-gate.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const projectRoot = join(import.meta.dirname, "../../..");
const REGISTRY = "registry.example/pbnj-worker";

describeWithDocker("the demonstration's workflow with the docker runtime", () => {
  beforeAll(async () => {
    const { version } = await readManifest(projectRoot);
    await buildActionImages(REGISTRY, ["power-off", "set-pxe-once", "power-on"], versionTag(version));
  }, 300_000);

  test("runs on every machine, and leaves no container and no password", {
    timeout: 240_000,
  }, async () => {
    const lab = await startLab({ times: { powerOnMs: 300, powerOffMs: 100, softOffMs: 100 } });
    const server = await startTinkServer();
    const password = (await readFile(join(lab.directory, "bmc-password"), "utf8")).trim();
    const template = await readFile(join(projectRoot, "examples/network-boot.yaml"), "utf8");
    const policy = join(lab.directory, "policy.yaml");
    await writeFile(policy, `trustedImages:\n  - ${REGISTRY}/*\n`);
    const gate = await EngineGate.open(dockerSocketPath);
    const inspected: string[] = [];
    // Podman reports a container too late to inspect it before the worker removes it.
    gate.holdEach(/^DELETE \S*\/containers\/([^/?]+)/, async ([, id = ""]) => {
      inspected.push(await dockerCli("inspect", id));
    });
    await using worker = new WorkerProgram([
      ...["start", "--grpc-server", server.address, "--inventory", lab.inventoryFile, "--log-level", "debug"],
      ...["--runtime", "docker", "--docker-socket", gate.socketPath, "--pull-policy", "never"],
      ...["--policy", policy],
      // The simulators listen on loopback, which is the host's.
      ...["--docker-network", "host"],
    ]);
    const workflows = lab.machines.map(({ machine }) =>
      server.submit({ name: machine.name, template, values: { machine: machine.name } }),
    );
    await server.until(() => workflows.every(isOver), 150_000);
    worker.kill("SIGTERM");
    const end = await worker.ended;
    const left = await Promise.all(
      workflows.map(({ id }) =>
        dockerCli("ps", "--all", "--quiet", "--filter", `label=${LABEL.workflow}=${id}`),
      ),
    );

    expect(
      workflows.map(({ state, tasks }) => [
        state,
        ...(tasks[0]?.actions.map(({ message }) => message) ?? []),
      ]),
    ).toEqual(
      lab.machines.map(() => [
        "SUCCESS",
        expect.stringMatching(/^off after .* via (redfish|ipmi)$/),
        expect.stringMatching(/^boot pxe once \(uefi\) via (redfish|ipmi)$/),
        expect.stringMatching(/^on after .* via (redfish|ipmi)$/),
      ]),
    );
    for (const { machine } of lab.machines) {
      expect(machine.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
      expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
    }
    expect(end.code).toBe(0);
    expect(left.join("")).toBe("");
    expect(inspected).toHaveLength(3 * lab.machines.length);
    for (const text of inspected) expect(text).toContain("BMC_CONNECTION_FILE=-");
    expect([worker.stderr, JSON.stringify(server.reports), ...inspected].join("\n")).not.toContain(password);
    await gate.close();
    await server.close();
    await lab.close();
  });
});
