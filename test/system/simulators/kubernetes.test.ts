import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { accessFromKubeconfig, ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";

let folder: string;
let child: ChildProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "fake-cluster-"));
});
afterEach(async () => {
  if (child && child.exitCode === null) {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
});

test("it runs from the command line with a kubeconfig for its owner, until it is interrupted", async () => {
  const main = JSON.stringify(
    pathToFileURL(join(import.meta.dirname, "../../../simulators/kubernetes/main.ts")).href,
  );
  const program = `const { kubernetesCommand } = await import(${main}); await kubernetesCommand().parseAsync(process.argv.slice(1), { from: "user" });`;
  const file = join(folder, "kubeconfig");
  const args = ["--kubeconfig", file, "--crds", "v1alpha2", "--namespace", "lab"];
  child = spawn(process.execPath, ["--input-type=module", "-e", program, "--", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout ?? process.stdin }), "line");

  const access = accessFromKubeconfig(await readFile(file, "utf8"));
  const client = new ClusterClient(access);
  const namespaces = await client.list("/api/v1/namespaces");
  const workflows = await client.list("/apis/tinkerbell.org/v1alpha2/workflows");
  await client.close();
  const { mode } = await stat(file);
  const ended = once(child, "exit");
  child.kill("SIGINT");

  expect(JSON.parse(line)).toEqual({ url: access.url, kubeconfig: file });
  expect(namespaces.items.map(({ metadata }) => metadata.name)).toEqual(["lab"]);
  expect(workflows.items).toEqual([]);
  expect(mode & 0o777).toBe(0o600);
  expect(await ended).toEqual([0, null]);
});
