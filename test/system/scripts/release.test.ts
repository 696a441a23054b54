import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { beforeEach, describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { findContainerEngine } from "../../../scripts/images/container-engine.ts";
import { projectImages } from "../../../scripts/images/project-images.ts";
import { BAKED_BASE, bakeFile } from "../../../scripts/release/buildx.ts";
import { type Findings, releaseProblems } from "../../../scripts/release/preflight.ts";
import { type ReleaseOptions, release } from "../../../scripts/release/release.ts";
import { releaseText } from "../../../scripts/release/release-record.ts";
import { testFolder } from "../../support/test-folder.ts";

const projectRoot = join(import.meta.dirname, "../../..");
const registry = "registry.example/bmc";

describe("the file of a build with buildx", () => {
  const set = { registry, tag: "v1.2.3", version: "1.2.3", revision: "abc" };
  const options = { platforms: ["linux/amd64", "linux/arm64"], push: false, sourceDateEpoch: "17" };

  it("has every image with its arguments, platforms and attestations, on one base, and no push", async () => {
    const bases = { nodeImage: "node:24-slim", baseImage: BAKED_BASE };
    const images = await projectImages({ ...set, bases });

    const file = bakeFile(images, options);

    expect(file).toMatchObject({
      group: { default: { targets: [...catalogue, "worker"] } },
      target: {
        "power-off": {
          context: projectRoot,
          dockerfile: "Dockerfile.action",
          args: {
            ...{ NODE_IMAGE: "node:24-slim", BASE_IMAGE: BAKED_BASE, ACTION: "power-off", VERSION: "1.2.3" },
            ...{ REVISION: "abc", IDEMPOTENT: "true", SOURCE_DATE_EPOCH: "17" },
          },
          tags: ["registry.example/bmc/power-off:v1.2.3"],
          platforms: ["linux/amd64", "linux/arm64"],
          attest: ["type=sbom", "type=provenance,mode=max"],
          output: ["type=image,push=false"],
          contexts: { [BAKED_BASE]: `target:${BAKED_BASE}` },
        },
        worker: { dockerfile: "Dockerfile.worker", contexts: { [BAKED_BASE]: `target:${BAKED_BASE}` } },
        [BAKED_BASE]: { dockerfile: "Dockerfile.base", args: { NODE_IMAGE: "node:24-slim" } },
      },
    });
  });
});

describe("what is fit to be released", () => {
  const fit: Findings = {
    ...{ version: "1.0.0", tag: "v1.0.0", registry, push: true, head: "a".repeat(40) },
    releases: [{ version: "1.0.0", date: "2026-01-31", changes: [] }],
    ...{ changedFiles: [], taggedCommit: undefined, bases: [`node:24-slim@sha256:${"a".repeat(64)}`] },
  };

  it("is a clean commit whose version has its section and date, tagged there or not at all", () => {
    expect(releaseProblems(fit)).toEqual([]);
    expect(releaseProblems({ ...fit, taggedCommit: fit.head })).toEqual([]);
  });

  it("is not anything else, and every reason is said", () => {
    const changedFiles = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ` M ${name}.ts`);

    const problems = releaseProblems({
      ...fit,
      ...{ registry: undefined, releases: [], changedFiles, taggedCommit: "b".repeat(40) },
    });

    expect(problems).toEqual([
      "no registry: give --registry or IMAGE_REGISTRY, what image names begin with",
      "files differ from the commit: a.ts, b.ts, c.ts, d.ts, e.ts and 2 more",
      "CHANGELOG.md has no section for version 1.0.0",
      "v1.0.0 is released already, at commit bbbbbbbbbbbb: raise the version",
    ]);
  });

  it("needs the digests of its base images to be pushed", () => {
    const bases = ["node:24-slim", `base:1@sha256:${"b".repeat(64)}`];

    expect(releaseProblems({ ...fit, bases })).toEqual([
      "node:24-slim has no digest, so it may be another image tomorrow: give it as node:24-slim@sha256:…",
    ]);
    expect(releaseProblems({ ...fit, bases, push: false })).toEqual([]);
  });

  it("needs a repository, and a date only to be pushed", () => {
    const undated = { ...fit, releases: [{ version: "1.0.0", changes: [] }] };

    expect(releaseProblems({ ...fit, head: undefined })).toEqual([
      "this is no git repository with a commit: a release is made of one",
    ]);
    expect(releaseProblems(undated)).toEqual([
      "CHANGELOG.md says that 1.0.0 is unreleased: give it its date before the push",
    ]);
    expect(releaseProblems({ ...undated, push: false })).toEqual([]);
  });
});

/** A repository with what a release reads of it, at its first commit. */
async function createRepository(root: string, heading = "## [1.2.3] - 2026-01-31"): Promise<string> {
  await mkdir(root, { recursive: true });
  const manifest = { name: "a", version: "1.2.3", license: "Apache-2.0", repository: "github:o/r" };
  await writeFile(join(root, "package.json"), JSON.stringify(manifest));
  await writeFile(join(root, "CHANGELOG.md"), `# Changelog\n\n${heading}\n\n### Added\n\n- All\n`);
  const git = (...args: readonly string[]) =>
    execa("git", args, {
      cwd: root,
      env: { GIT_COMMITTER_DATE: "2026-01-31T10:00:00Z", GIT_AUTHOR_DATE: "2026-01-31T10:00:00Z" },
    });
  await git("init", "--quiet");
  await git("add", ".");
  const person = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
  await git(...person, "commit", "--quiet", "--message", "first");
  return (await git("rev-parse", "HEAD")).stdout;
}

let directory: string;
beforeEach(async () => {
  ({ folder: directory } = await testFolder());
});

const pinned = (image: string) => `${image}@sha256:${"c".repeat(64)}`;

describe("a release with buildx (a fake one)", () => {
  const said: string[] = [];

  /** A program `docker` that is the fake; calls are read from its record. */
  async function installFake(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const fake = join(import.meta.dirname, "fixtures/fake-docker.sh");
    const settings = { ...env, FAKE_DOCKER_CALLS: join(directory, "calls") };
    const exports = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'`);
    const program = join(directory, "docker");
    await writeFile(program, ["#!/bin/sh", ...exports, `exec '${fake}' "$@"`].join("\n"));
    await chmod(program, 0o755);
    return program;
  }

  async function run(program: string, options: Partial<ReleaseOptions> = {}) {
    said.length = 0;
    return release(
      { registry, push: false, ...options },
      {
        root: join(directory, "project"),
        findEngine: () => findContainerEngine(program),
        say: (line) => said.push(line),
      },
    );
  }

  const calls = async () =>
    (await readFile(join(directory, "calls"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => {
        return { args: line.split("\u001f").slice(0, -1) };
      });

  const bakedTargets = async (): Promise<Readonly<Record<string, object>>> =>
    JSON.parse(await readFile(join(directory, "calls.bake.json"), "utf8")).target;

  it("builds every image for both platforms and records their digests, and pushes nothing, from any folder", async () => {
    const head = await createRepository(join(directory, "project"));

    const elsewhere = process.cwd();
    process.chdir(directory);
    const end = await run(await installFake()).finally(() => process.chdir(elsewhere));

    if (!end.ok) throw new Error(end.problems.join("\n"));
    const builds = (await calls()).filter(({ args }) => args[1] === "bake");
    const names = [...catalogue, "worker"];
    expect(end.record).toMatchObject({ version: "1.2.3", revision: head, builder: "buildx", pushed: false });
    expect(end.record.attestations).toEqual(["sbom", "provenance"]);
    expect(end.record.images.map(({ name, tag }) => [name, tag])).toEqual(
      names.map((name) => [name, `${registry}/${name}:v1.2.3`]),
    );
    for (const image of end.record.images) {
      expect(image.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(image.platforms).toEqual(["linux/amd64", "linux/arm64"]);
    }
    expect(builds).toHaveLength(1);
    expect(await readFile(join(directory, "calls.folder"), "utf8")).toBe(`${projectRoot}\n`);
    const { worker } = (await bakedTargets()) as Record<string, { args: object; output: string[] }>;
    expect(worker?.args).toMatchObject({
      ...{ REVISION: head, SOURCE: "https://github.com/o/r", SOURCE_DATE_EPOCH: "1769853600" },
    });
    expect(worker?.output).toEqual(["type=image,push=false"]);
    expect(said).toEqual([`building ${names.length} images`]);
    expect(JSON.parse(releaseText(end.record))).toEqual(end.record);
  });

  it("pushes with --push, with the builder and the bases asked for", async () => {
    await createRepository(join(directory, "project"));

    const end = await run(await installFake(), {
      push: true,
      builder: "mine",
      nodeImage: pinned("n:1"),
      baseImage: pinned("b:1"),
    });

    expect(end).toMatchObject({ ok: true, record: { pushed: true } });
    const [bake] = (await calls()).filter(({ args }) => args[1] === "bake");
    expect(bake?.args.slice(0, 4)).toEqual(["buildx", "bake", "--builder", "mine"]);
    for (const target of Object.values(await bakedTargets())) {
      expect(target).toMatchObject({
        args: { NODE_IMAGE: pinned("n:1"), BASE_IMAGE: pinned("b:1") },
        output: ["type=image,push=true"],
      });
    }
  });

  it("builds nothing when anything is wrong, and says all of it", async () => {
    const root = join(directory, "project");
    await createRepository(root, "## [1.2.2] - 2026-01-30");
    await writeFile(join(root, "new.ts"), "");

    const end = await run(await installFake({ FAKE_DOCKER_DRIVER: "docker" }), { registry: undefined });

    expect(end).toEqual({
      ok: false,
      problems: [
        "no registry: give --registry or IMAGE_REGISTRY, what image names begin with",
        "files differ from the commit: new.ts",
        "CHANGELOG.md has no section for version 1.2.3",
        expect.stringContaining(
          "has the driver docker, which builds for one platform and without attestations",
        ),
      ],
    });
    expect((await calls()).filter(({ args }) => args[1] === "bake")).toEqual([]);
  });

  it("ends with the builder's own words when the build fails", async () => {
    await createRepository(join(directory, "project"));
    const program = await installFake({ FAKE_DOCKER_FAIL: "1" });

    await expect(run(program)).rejects.toThrow(/failed to solve: the fake was told to fail/);
  });
});
