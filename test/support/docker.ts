import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe } from "vitest";
import { type ContainerEngine, containerEngine } from "../../scripts/images/container-engine.ts";
import { buildLocalBase } from "../../scripts/images/local-base.ts";
import { textOf } from "../../shared/text-of.ts";
import { openFolder } from "./folder.ts";

/** The socket of the engine that DOCKER_HOST names, as for the docker client. */
export const dockerSocketPath = (process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock").replace(
  "unix://",
  "",
);
/**
 * Whether this engine runs for a user without rights, on a host with cgroups of version 1: then it cannot limit what containers
 * take, and has no bridge.
 */
export const isRootless = process.env["ROOTLESS_ENGINE"] === "1";
export const dockerNetwork = isRootless ? "none" : "bridge";
/** The base image that `npm run images` builds without a registry; kept between runs. */
export const testBaseImage = "localhost/pbnj-worker/base:local";
export const scriptedImage = "localhost/pbnj-worker/scripted:test";

const docker: ContainerEngine = containerEngine("docker");
let components = "";
const problem = await docker.run(["version", "--format", "{{json .Server.Components}}"]).then(
  (text) => {
    components = text;
    return undefined;
  },
  (thrown: unknown) => textOf(thrown),
);

/** Whether it is Podman that serves the API. */
export const isPodman = components.includes("Podman");

/**
 * Tests that need a real engine: run where one answers, skipped with a notice where none does, and an error
 * there when REQUIRE_DOCKER=1 says that one must.
 */
export function describeWithDocker(title: string, tests: () => void): void {
  if (problem === undefined) {
    describe(title, tests);
    return;
  }
  if (process.env["REQUIRE_DOCKER"] === "1") throw new Error(`REQUIRE_DOCKER=1, but ${problem}`);
  process.stderr.write(`skipped, no container engine answers: ${title} (${problem})\n`);
  describe.skip(title, tests);
}

export async function buildTestBase(): Promise<void> {
  await buildLocalBase(docker, testBaseImage);
}

/** The image of the scripted action. */
export async function buildScriptedImage(): Promise<void> {
  await buildTestBase();
  await using place = await openFolder();
  const { folder: context } = place;
  const program = join(import.meta.dirname, "fixtures/actions/scripted/action.ts");
  await copyFile(program, join(context, "action.mts"));
  const dockerfile = `FROM ${testBaseImage}\nCOPY action.mts /\nENTRYPOINT ["node", "/action.mts"]\n`;
  await writeFile(join(context, "Dockerfile"), dockerfile);
  await docker.run(["build", "--tag", scriptedImage, context]);
}

/** Builds an image from the scripted action's, with these lines of a Dockerfile. */
export async function buildVariant(tag: string, lines: readonly string[]): Promise<void> {
  await using place = await openFolder();
  const { folder: context } = place;
  await writeFile(join(context, "passwd"), "app:x:0:0::/:/x\nmember:x:1000:1000::/:/x\n");
  await writeFile(join(context, "group"), "root:x:0:member\nwheel:x:0:\n");
  await writeFile(join(context, "Dockerfile"), [`FROM ${scriptedImage}`, ...lines, ""].join("\n"));
  await docker.run(["build", "--tag", tag, context]);
}

/** Runs the docker client and gives back its stdout. */
export async function dockerCli(...args: readonly string[]): Promise<string> {
  return docker.run(args);
}

/** Takes away what a test may have left; a missing container is fine. */
export async function removeContainers(...names: readonly string[]): Promise<void> {
  if (names.length > 0) await execa("docker", ["rm", "--force", "--volumes", ...names], { reject: false });
}
