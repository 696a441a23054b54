import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, it, vi } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { buildImage } from "../../../scripts/images/build-image.ts";
import { containerEngine } from "../../../scripts/images/container-engine.ts";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { runProgram } from "../../cli/program.ts";
import { buildTestBase, describeWithDocker, testBaseImage } from "../../support/docker.ts";

describeWithDocker("the image of the worker", () => {
  const image = "localhost/pbnj-worker-test/worker:test";

  beforeAll(async () => {
    await buildTestBase();
    const bases = { nodeImage: testBaseImage, baseImage: testBaseImage };
    await buildImage(containerEngine("docker"), {
      ...{ tag: image, dockerfile: "Dockerfile.worker", bases, version: "0.0.0" },
    });
  }, 300_000);

  const run = (...argv: readonly string[]) => {
    const confined = ["--rm", "--init", "--read-only", "--cap-drop", "ALL", "--network", "none"];
    return execa("docker", ["run", ...confined, image, ...argv], { reject: false, timeout: 60_000 });
  };

  it("is the worker, and says what that lacks to start", async () => {
    const { exitCode, stderr } = await run("start");

    expect(stderr).toContain("--grpc-server: is missing");
    expect(exitCode).toBe(2);
  });

  it("starts without being told where its state is, as a user without a home", async () => {
    const confined = ["--read-only", "--cap-drop", "ALL", "--network", "none"];
    const start = ["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a"];
    const { stdout: id } = await execa("docker", ["run", "--detach", ...confined, image, ...start]);
    try {
      const logged = async () => (await execa("docker", ["logs", id])).stderr;
      await vi.waitFor(async () => expect(await logged()).toContain("worker started"), 20_000);

      await execa("docker", ["stop", id]);

      const { stdout: exitCode } = await execa("docker", ["wait", id]);
      expect(await logged()).toContain('"stateDirectory":"/var/lib/pbnj-worker"');
      expect(exitCode).toBe("0");
    } finally {
      await execa("docker", ["rm", "--force", "--volumes", id]);
    }
  });

  it("finds the cluster of its pod by itself", async () => {
    const cluster = await FakeCluster.start();
    const account = await mkdtemp(join(tmpdir(), "pbnj-account-"));
    const token = cluster.addUser("system:serviceaccount:tink-system:pbnj-worker", [
      { apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["tink-system"] },
    ]);
    const files = { "ca.crt": cluster.ca, token, namespace: "tink-system" };
    for (const [name, text] of Object.entries(files)) await writeFile(join(account, name), text);
    await chmod(account, 0o755);
    try {
      const { stdout } = await execa(
        "docker",
        [
          ...["run", "--rm", "--init", "--read-only", "--cap-drop", "ALL", "--network", "host"],
          ...["--volume", `${account}:/var/run/secrets/kubernetes.io/serviceaccount:ro`],
          ...["--env", "KUBERNETES_SERVICE_HOST=127.0.0.1"],
          ...["--env", `KUBERNETES_SERVICE_PORT=${new URL(cluster.url).port}`],
          ...[
            image,
            "doctor",
            "--grpc-server",
            "127.0.0.1:1",
            "--agent-id",
            "a",
            "--runtime",
            "kubernetes",
            "--unsafe-any-image",
          ],
        ],
        { reject: false, timeout: 60_000 },
      );

      expect(stdout).toMatch(
        /^ok +cluster +https:.*: v1\.\S+, namespace tink-system, for runtime, wake-up$/m,
      );
      expect(stdout).toMatch(
        /^ok +runtime +kubernetes: Kubernetes v1\.\S+ at https:.*, namespace tink-system$/m,
      );
    } finally {
      await cluster.close();
      await rm(account, { recursive: true, force: true });
    }
  });

  it("is also a lab, for other programs' tests", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pbnj-lab-image-"));
    const user = `${process.getuid?.()}`;
    const how = ["--detach", "--network", "host", "--user", user, "--volume", `${folder}:/lab`];
    const { stdout: id } = await execa("docker", [
      "run",
      ...how,
      image,
      "lab",
      "--port",
      "0",
      "--directory",
      "/lab",
    ]);
    try {
      const logged = async () => (await execa("docker", ["logs", id])).stdout;
      await vi.waitFor(async () => expect(await logged()).toContain("Ctrl+C stops the lab"), 20_000);

      const inventory = ["--inventory", join(folder, "inventory.yaml"), "--all", "--output", "text"];
      const { stdout } = await runProgram(["action", "power-status", ...inventory]);
      await execa("docker", ["stop", id]);

      expect(stdout.match(/^node-0\d: on \(\w+, /gm)).toHaveLength(4);
      expect((await execa("docker", ["wait", id])).stdout).toBe("0");
    } finally {
      await execa("docker", ["rm", "--force", "--volumes", id]);
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("holds every action for the process runtime, and runs them", async () => {
    const listed = await run("actions");
    const ran = await run("action", "power-status", "--bmc-host", "192.0.2.1");

    expect(listed.stdout.split("\n")).toHaveLength(catalogue.length);
    expect(ran.stderr).toContain("--bmc-username is missing");
    expect(ran.exitCode).toBe(2);
  });
});
