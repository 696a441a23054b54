import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startTinkServer } from "../../../../simulators/tink/server.ts";
import { checkStateDirectory } from "../../../../worker/doctor/check-state-directory.ts";
import { WorkerProgram } from "../../../support/worker-program.ts";
import { asOtherUser } from "../../../worker/doctor/as-other-user.ts";

const never = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pbnj-doctor-state-"));
});
afterEach(async () => {
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true, force: true });
});

it("a directory that can be written and locked is valid, and nothing is left in it", async () => {
  const [found, ...others] = await checkStateDirectory(folder, never);

  expect(found).toMatchObject({
    state: "ok",
    detail: `${folder} can be written and locked; no worker uses it now`,
  });
  expect(others).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

it("a running worker's directory is valid, and the worker continues", async () => {
  const server = await startTinkServer();
  await using worker = new WorkerProgram([
    ...["start", "--grpc-server", server.address, "--agent-id", "a", "--state-directory", folder],
  ]);
  try {
    await server.until(() => server.polls.length > 0);

    const found = await checkStateDirectory(folder, never);

    expect(found).toMatchObject([{ state: "ok", detail: `${folder} is in use by a running worker` }]);
    expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/^doctor-/));
    expect(worker.child.exitCode).toBeNull();
  } finally {
    await server.close();
  }
});

it("a damaged ID is a problem that names the file", async () => {
  const file = join(folder, "state.json");
  await writeFile(file, "{}");

  const found = await checkStateDirectory(folder, never);

  expect(found).toMatchObject([{ cause: "state-damaged", remedy: expect.stringContaining(file) }]);
});

it("locks that a second process gets, too, are a problem", async () => {
  const found = await checkStateDirectory(folder, never, "process.exit(0)");

  expect(found).toMatchObject([{ cause: "locks-do-not-hold", class: "usage" }]);
  expect(await readdir(folder)).toEqual([]);
});

it("a directory of another user is a problem that names the needed owner", async () => {
  await chmod(folder, 0o500);

  const [own, made] = await asOtherUser(async () => [
    await checkStateDirectory(folder, never),
    await checkStateDirectory(join(folder, "a"), never),
  ]);

  expect(own).toMatchObject([
    {
      cause: "state-not-usable",
      remedy: expect.stringMatching(/chown -R \S+ \/.*, or choose another directory/),
    },
  ]);
  expect(made).toMatchObject([
    { cause: "state-not-usable", detail: expect.stringContaining(`a cannot be used: ${folder} may not be`) },
  ]);
});
