import { chmod, copyFile, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { baseFiles, writeBase } from "../../../scripts/images/base-files.ts";
import { buildArguments } from "../../../scripts/images/build-image.ts";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { runProgram } from "../../cli/program.ts";
import { provideActionImages } from "../../support/action-images.ts";
import { buildTestBase, describeWithDocker, dockerCli, testBaseImage } from "../../support/docker.ts";

const projectRoot = join(import.meta.dirname, "../../..");

const isDebian = () =>
  stat("/var/lib/dpkg/status").then(
    () => true,
    () => false,
  );

describe("building images", () => {
  it("passes what an image says of itself as build arguments, and leaves out what is not known", () => {
    const bases = { nodeImage: "node:24-slim", baseImage: "base:1" };

    const args = buildArguments({
      ...{ tag: "r/power-off:1", dockerfile: "Dockerfile.action", bases },
      ...{ version: "1", action: "power-off" },
    });

    expect(args).toEqual([
      ...["build", "--force-rm"],
      ...["--file", join(projectRoot, "Dockerfile.action"), "--tag", "r/power-off:1"],
      ...["--build-arg", "NODE_IMAGE=node:24-slim", "--build-arg", "BASE_IMAGE=base:1"],
      ...["--build-arg", "ACTION=power-off", "--build-arg", "VERSION=1", projectRoot],
    ]);
  });

  it("takes from a system what its Node needs, and a Node without symbols runs", async () => {
    const directory = await mkdtemp(join(tmpdir(), "pbnj-base-"));
    const node = await realpath(process.execPath);

    const files = baseFiles("/", node);
    writeBase(files, directory);

    const { stdout } = await execa(join(directory, "usr/local/bin/node"), ["-p", "1 + 1"]);
    const libraries = [...files.copied.keys()].map((path) => basename(path));
    expect(stdout).toBe("2");
    expect((await stat(join(directory, "usr/local/bin/node"))).size).toBeLessThan((await stat(node)).size);
    expect(libraries).toEqual(expect.arrayContaining(["libc.so.6", expect.stringMatching(/^ld-linux/)]));
    if (await isDebian()) {
      const libc = await readFile(join(directory, "var/lib/dpkg/status.d/libc6"), "utf8");
      expect(libc).toMatch(/^Package: libc6\n[\s\S]*^Version: \S+$/m);
      expect(await readFile(join(directory, "etc/os-release"), "utf8")).toMatch(/^ID=/m);
    }
    await rm(directory, { recursive: true });
  });
});

const REGISTRY = "localhost/pbnj-worker-test";

describeWithDocker("the images", () => {
  let built: string;

  beforeAll(async () => {
    // The local base, so that no registry is asked.
    await buildTestBase();
    const { stdout } = await execa(
      process.execPath,
      [
        join(projectRoot, "scripts/images.ts"),
        ...["--image", "worker", "power-off", "--registry", REGISTRY, "--version", "test"],
        ...["--node-image", testBaseImage],
      ],
      { timeout: 580_000 },
    );
    built = stdout;
  }, 600_000);

  it("are small", () => {
    const [, compressed] = new RegExp(`^${REGISTRY}/power-off:test +([\\d.]+) MiB`, "m").exec(built) ?? [];

    expect(Number(compressed)).toBeLessThan(45);
  });

  it.each(["worker", "action"])("leave no stage without a name: Dockerfile.%s", async (file) => {
    const stages = ["--filter", "dangling=true", "--filter", `label=pbnj-worker.stage=Dockerfile.${file}`];

    expect(await dockerCli("image", "ls", "--quiet", ...stages)).toBe("");
  });

  describe("of an action", testActionImage);
  describe("of the worker", testWorkerImage);
});

function testActionImage(): void {
  const image = `${REGISTRY}/power-off:test`;

  it("differs from another action's in its last layer alone", async () => {
    const imageOf = await provideActionImages();
    const layersOf = async (name: string): Promise<readonly string[]> =>
      JSON.parse(await dockerCli("image", "inspect", "--format", "{{json .RootFS.Layers}}", imageOf(name)));
    const [one, other] = await Promise.all(["power-on", "power-off"].map(layersOf));

    expect(one?.slice(0, -1)).toEqual(other?.slice(0, -1));
    expect(one?.at(-1)).not.toBe(other?.at(-1));
  });

  it("runs as non-root, in exec form, and says what it is", async () => {
    const [details] = JSON.parse(await dockerCli("image", "inspect", image));

    expect(details.Config).toMatchObject({
      User: "65532:65532",
      Entrypoint: ["node", "/action/action.mjs"],
      StopSignal: "SIGTERM",
      Labels: {
        "org.opencontainers.image.title": "power-off",
        "org.opencontainers.image.version": "test",
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    });
    expect(details.Config.Labels["org.opencontainers.image.description"]).toMatch(/^Power a machine off/);
  });

  it("is what the other tests run: the same program, settings and labels", async () => {
    const ours = (await provideActionImages())("power-off");
    const configOf = async (name: string) => {
      const {
        Image: _,
        Hostname: __,
        Labels,
        ...config
      } = JSON.parse(await dockerCli("image", "inspect", "--format", "{{json .Config}}", name));
      const { "pbnj-worker.test-image": ___, ...labels } = Labels;
      return { ...config, Cmd: config.Cmd ?? [], Env: config.Env.toSorted(), labels };
    };
    const [real, tested] = await Promise.all([image, ours].map(configOf));
    const files = await Promise.all([image, ours].map(filesOf));

    const atBuild = ["org.opencontainers.image.version", "org.opencontainers.image.revision"];
    for (const label of [...atBuild, "org.opencontainers.image.source"]) {
      expect(real.labels).toHaveProperty([label]);
      tested.labels[label] = real.labels[label];
    }
    expect(tested).toEqual(real);
    expect(files[1]).toEqual(files[0]);
    expect([...(files[0]?.keys() ?? [])]).toContain("action/action.mjs");
  });

  it("carries its licences, the names of its packages, and what V8 compiled of the actions", async () => {
    const files = await dockerFiles(image);
    const isName = (path: string) => /^program\/node_modules\/.*package\.json$/.test(path);
    const [script] = files.filter((path) => path.endsWith(".cjs"));

    expect(files.filter((path) => !isName(path))).toEqual([
      "action/action.mjs",
      "program/LICENSE",
      "program/THIRD-PARTY-LICENSES",
      script,
      `${script}.cache`,
    ]);
    expect(files).toContain("program/node_modules/zod/package.json");
  });
}

function testWorkerImage(): void {
  const image = `${REGISTRY}/worker:test`;

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

  it.each([
    ["of simulated machines", [], /^node-0\d: on \(\w+, /gm, 4],
    ["of a recorded machine", ["--recording", "/lab/bmc.json"], /^bmc: unknown \(redfish, /gm, 1],
  ])("is also a lab %s, for other programs' tests", async (_, flags, shown, times) => {
    const folder = await mkdtemp(join(tmpdir(), "pbnj-lab-image-"));
    await copyFile(join(projectRoot, "test/recordings/power-not-shown.json"), join(folder, "bmc.json"));
    const how = ["--detach", "--network", "host", "--user", `${process.getuid?.()}`];
    const lab = ["lab", ...flags, "--port", "0", "--directory", "/lab"];
    const argv = ["run", ...how, "--volume", `${folder}:/lab`, image, ...lab];
    const { stdout: id } = await execa("docker", argv);
    try {
      const logged = async () => (await execa("docker", ["logs", id])).stdout;
      await vi.waitFor(async () => expect(await logged()).toContain("Ctrl+C stops the lab"), 60_000);

      const inventory = ["--inventory", join(folder, "inventory.yaml"), "--all", "--output", "text"];
      const { stdout } = await runProgram(["action", "power-status", ...inventory]);
      await execa("docker", ["stop", id]);

      expect(stdout.match(shown)).toHaveLength(times);
      expect((await execa("docker", ["wait", id])).stdout).toBe("0");
    } finally {
      await execa("docker", ["rm", "--force", "--volumes", id]);
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** What an image has in /action and /program, except V8's cache: the mode and the text of each file by its path. */
async function filesOf(image: string): Promise<ReadonlyMap<string, string>> {
  return withFiles(image, async (root, paths) => {
    const files = new Map<string, string>();
    for (const path of paths.filter((each) => !each.endsWith(".cache"))) {
      const { mode } = await stat(join(root, path));
      files.set(path, `${mode.toString(8)} ${await readFile(join(root, path), "utf8")}`);
    }
    return files;
  });
}

const dockerFiles = (image: string) => withFiles(image, async (_, paths) => paths);

async function withFiles<T>(
  image: string,
  read: (root: string, paths: readonly string[]) => Promise<T>,
): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), "pbnj-image-"));
  const container = await dockerCli("create", image);
  try {
    for (const folder of ["action", "program"]) await dockerCli("cp", `${container}:/${folder}`, root);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return await read(
      root,
      files.map(({ parentPath, name }) => relative(root, join(parentPath, name))).sort(),
    );
  } finally {
    await dockerCli("rm", "--force", container);
    await rm(root, { recursive: true, force: true });
  }
}
