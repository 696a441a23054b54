import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { buildArguments } from "../../scripts/images/build-image.ts";
import { sizeTable } from "../../scripts/images/image-sizes.ts";
import { librariesIn } from "../../scripts/images/local-base.ts";
import { parseResultLine } from "../../shared/contract/result.ts";
import { buildTestBase, describeWithDocker, dockerCli, testBaseImage } from "../support/docker.ts";

const projectRoot = join(import.meta.dirname, "../..");

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

  it("reads the libraries and the loader from what ldd prints", () => {
    const output = [
      "\tlinux-vdso.so.1 (0x00007f85e5927000)",
      "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f85e5520000)",
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f85e5909000)",
    ].join("\n");

    expect(librariesIn(output)).toEqual(["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
  });

  it("shows what an image shares and what is its own", () => {
    const sizes = { image: "a:1", totalBytes: 132_800_000, baseBytes: 132_000_000, ownBytes: 800_000 };

    expect(sizeTable([sizes])).toBe(
      ["image       total shared base         own", "a:1     132.80 MB   132.00 MB     0.80 MB"].join("\n"),
    );
  });
});

describeWithDocker("the image of an action", () => {
  const image = "localhost/pbnj-worker-test/power-off:test";
  let built: string;

  beforeAll(async () => {
    // The local base, so that no registry is asked.
    await buildTestBase();
    const { stdout } = await execa(
      process.execPath,
      [
        join(projectRoot, "scripts/images.ts"),
        ...["--action", "power-off", "--registry", "localhost/pbnj-worker-test", "--version", "test"],
        ...["--node-image", testBaseImage],
      ],
      { timeout: 280_000 },
    );
    built = stdout;
  }, 300_000);

  it("is small: one layer of its own on a base that all share", () => {
    expect(built).toContain(image);
    expect(Number(/([\d.]+) MB$/m.exec(built)?.[1])).toBeLessThan(1);
  });

  it("fails with usage and a result when it is given nothing", async () => {
    const { exitCode, stdout, stderr } = await execa(
      "docker",
      ["run", "--rm", "--read-only", "--cap-drop", "ALL", "--network", "none", image],
      { reject: false, timeout: 60_000 },
    );

    expect(exitCode).toBe(2);
    expect(stderr).toContain("BMC_HOST");
    expect(parseResultLine(stdout.split("\n").at(-1) ?? "")).toMatchObject({ ok: false, class: "usage" });
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

  it("carries its licences", async () => {
    const directory = await mkdtemp(join(tmpdir(), "pbnj-image-"));
    const container = await dockerCli("create", image);
    try {
      await dockerCli("cp", `${container}:/action`, directory);

      expect((await readdir(join(directory, "action"))).sort()).toEqual([
        "LICENSE",
        "THIRD-PARTY-LICENSES",
        "action.mjs",
        "parts",
      ]);
    } finally {
      await dockerCli("rm", "--force", container);
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("says what failed when a build fails", async () => {
    const directory = await mkdtemp(join(tmpdir(), "pbnj-broken-"));
    await writeFile(
      join(directory, "Dockerfile"),
      `FROM ${testBaseImage}\nRUN ["node", "-p", "nonsense()"]\n`,
    );

    const building = dockerCli("build", "--force-rm", directory);

    await expect(building).rejects.toThrow(/nonsense is not defined/);
    await rm(directory, { recursive: true, force: true });
  });
});
