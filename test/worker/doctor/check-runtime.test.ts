import { chmod, chown, mkdtemp, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, describe, expect, it } from "vitest";
import { actionLibrary } from "../../../cli/action-library.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { checkRuntime } from "../../../worker/doctor/check-runtime.ts";
import { groupName } from "../../../worker/doctor/user.ts";
import { composeRuntime } from "../../../worker/main/compose-runtime.ts";
import { loadConfig } from "../../../worker/main/load-config.ts";
import { PROGRAM } from "../../cli/program.ts";
import { describeWithDocker } from "../../support/docker.ts";
import { FakeEngine, json, type Routes, silence } from "../runtimes/docker/fake-engine.ts";
import { asOtherUser } from "./as-other-user.ts";

const never = new AbortController().signal;
const own = { file: PROGRAM, actions: actionLibrary.names(), library: actionLibrary };

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "pbnj-doctor-runtime-"));
  closers.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function engine(routes: Routes): Promise<FakeEngine> {
  const started = await FakeEngine.start(routes);
  closers.push(() => started.stop());
  return started;
}

async function check(flags: Readonly<Record<string, string>>, timeoutMs = 10_000, why?: string) {
  const loaded = loadConfig({ flags: { ...flags, unsafeAnyImage: true }, env: {} }, "run");
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const runtime = await composeRuntime(config, { log: silentLogger, own, policy: () => config.policy });
  try {
    return await checkRuntime(config.runtime, runtime, timeoutMs, never, why);
  } finally {
    await runtime.close();
  }
}

const docker = (dockerSocket: string) => ({ runtime: "docker", dockerSocket });

describe("runtimes without containers", () => {
  it.each(["process", "in-process"])("%s are well where their actions are", async (runtime) => {
    const found = await check({ runtime });

    expect(found).toMatchObject({ state: "ok", subject: runtime, detail: expect.stringContaining("Node ") });
  });

  it("are a problem where the actions' folder is not", async () => {
    const found = await check({ runtime: "process", actionsDirectory: join(await folder(), "nowhere") });

    expect(found).toMatchObject({ state: "problem", cause: "actions-absent", class: "usage" });
  });
});

describe("a container engine", () => {
  it("is told with its version", async () => {
    const { socketPath } = await engine({
      "GET /version": json(200, { Version: "27.3.1", ApiVersion: "1.47", MinAPIVersion: "1.24" }),
    });

    const found = await check(docker(socketPath));

    expect(found).toMatchObject({
      state: "ok",
      subject: `docker ${socketPath}`,
      detail: "engine 27.3.1, API 1.47",
    });
  });

  it("is told with why it is this one, also if it does not answer", async () => {
    const { socketPath } = await engine({ "GET /version": json(200, { ApiVersion: "1.47" }) });
    const absent = join(await folder(), "engine.sock");

    expect((await check(docker(`unix://${socketPath}`), 10_000, "named by DOCKER_HOST")).detail).toMatch(
      /API 1.47; named by DOCKER_HOST$/,
    );
    expect(await check(docker(absent), 10_000, "the default")).toMatchObject({
      cause: "engine-absent",
      detail: expect.stringMatching(/does not exist; the default$/),
    });
  });

  it("that is too old is a problem", async () => {
    const { socketPath } = await engine({
      "GET /version": json(200, { Version: "18.09.1", ApiVersion: "1.39", MinAPIVersion: "1.12" }),
    });

    const found = await check(docker(socketPath));

    expect(found).toMatchObject({ cause: "engine-too-old", class: "unsupported" });
    expect(found.detail).toBe("the engine speaks API 1.39, 1.40 is needed");
  });

  it("that does not answer is a problem after the time", async () => {
    const { socketPath } = await engine({ "GET /version": silence });

    const found = await check(docker(socketPath), 300);

    expect(found).toMatchObject({ cause: "engine-silent", class: "timeout" });
  });

  it.each<[string, Routes]>([
    ["no JSON", { "GET /version": (response) => response.end("welcome") }],
    ["no version", { "GET /version": json(200, { hello: 1 }) }],
    ["not found", { "GET /version": json(404, { message: "page not found" }) }],
  ])("that is none (%s) is told as such", async (_, routes) => {
    const { socketPath } = await engine(routes);

    const found = await check(docker(socketPath));

    expect(found).toMatchObject({ cause: "engine-strange" });
  });

  it("that is not there is a problem", async () => {
    const socketPath = join(await folder(), "engine.sock");

    const found = await check(docker(socketPath));

    expect(found).toMatchObject({ cause: "engine-absent", class: "unreachable" });
    expect(found.detail).toContain(`${socketPath} does not exist`);
  });

  it("that died and left its socket is told to be started", async () => {
    const socketPath = join(await folder(), "engine.sock");
    const program = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
    await execa(process.execPath, ["-e", program, socketPath], { reject: false });

    const found = await check(docker(socketPath));

    expect(found).toMatchObject({ cause: "engine-down", class: "unreachable" });
  });

  it("whose socket is not this user's names the group that it belongs to", async () => {
    const { socketPath } = await engine({});
    const { gid } = await stat(socketPath);
    await chmod(socketPath, 0o060);

    const found = await asOtherUserThere(socketPath, () => check(docker(socketPath)));

    expect(found).toMatchObject({ state: "problem", cause: "engine-forbidden" });
    expect(found).toMatchObject({ class: undefined });
    expect(found.remedy).toContain(`the group ${groupName(gid) ?? ""}`);
    expect(found.remedy).toContain(`--group-add ${gid}`);
  });

  it("whose socket no group may use says so", async () => {
    const { socketPath } = await engine({});
    await chmod(socketPath, 0o000);

    const found = await asOtherUserThere(socketPath, () => check(docker(socketPath)));

    expect(found.remedy).toMatch(/^let a group use \S+engine\.sock \(chgrp, chmod g\+rw\)/);
  });
});

/** The owner itself must not pass by its group, nor by the folder. */
async function asOtherUserThere<T>(socketPath: string, work: () => Promise<T>): Promise<T> {
  await chmod(join(socketPath, ".."), 0o755);
  const { gid } = await stat(socketPath);
  if (process.geteuid?.() === 0) await chown(socketPath, 0, gid);
  return asOtherUser(work);
}

describe("the groups of this host", () => {
  const groups = () => "root:x:0:\ndocker:x:998:anna,ben\n";

  it("are known by their numbers", () => {
    expect(groupName(998, groups)).toBe("docker");
    expect(groupName(4_711, groups)).toBeUndefined();
  });

  it("are unknown where there is no list", () => {
    const absent = () => {
      throw new Error("ENOENT");
    };

    expect(groupName(998, absent)).toBeUndefined();
  });
});

describeWithDocker("a real container engine", () => {
  it("is well", async () => {
    const found = await check({ runtime: "docker" });

    expect(found).toMatchObject({ state: "ok", detail: expect.stringMatching(/^engine \S+, API \d+\.\d+$/) });
  });
});

it("a server on a socket that speaks HTTP and nothing else is no engine", async () => {
  const socketPath = join(await folder(), "engine.sock");
  const server = createServer((_, response) => response.writeHead(500).end("oops"));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));

  const found = await check(docker(socketPath));

  expect(found).toMatchObject({ cause: "engine-strange" });
});
