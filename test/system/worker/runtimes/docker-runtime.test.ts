import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import type { LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { DockerRuntime } from "../../../../worker/runtimes/docker/docker-runtime.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import {
  buildScriptedImage,
  buildVariant,
  describeWithDocker,
  dockerCli,
  dockerNetwork,
  dockerSocketPath,
  isPodman,
  isRootless,
  removeContainers,
  scriptedImage,
} from "../../../support/docker.ts";
import { canary, resultStep, scriptedRequest } from "../../../worker/runtimes/launch-request.ts";
import { itKeepsTheRuntimeContract } from "../../../worker/runtimes/runtime-contract.ts";

const never = new AbortController().signal;
const worker = "docker-runtime-test";
/** Fixed, because Podman must know in advance that it has no TLS: see .ci/run. */
const REGISTRY_PORT = 25_443;

function newRuntime(options: Partial<ConstructorParameters<typeof DockerRuntime>[0]> = {}): DockerRuntime {
  return new DockerRuntime({
    log: silentLogger,
    socketPath: dockerSocketPath,
    stopGraceMs: 3_000,
    ...options,
    container: { worker, network: dockerNetwork, ...options.container },
  });
}

/** Resolves once the action logged its first line; the request given back is the one to run. */
function untilFirstLine(request: LaunchRequest): { request: LaunchRequest; up: Promise<string> } {
  const { promise: up, resolve } = Promise.withResolvers<string>();
  return {
    up,
    request: {
      ...request,
      onLog: (line) => {
        request.onLog(line);
        resolve(line.line);
      },
    },
  };
}

/** Runs an action to its end and removes it, after a look at its container. */
async function ran<Seen>(
  steps: readonly string[],
  {
    runtime: options = {},
    terms,
    look,
    ...about
  }: NonNullable<Parameters<typeof scriptedRequest>[1]> & {
    readonly runtime?: Parameters<typeof newRuntime>[0];
    readonly terms?: NonNullable<LaunchRequest["terms"]>;
    readonly look?: (name: string) => Promise<Seen>;
  } = {},
) {
  const runtime = newRuntime(options);
  const { request, lines } = scriptedRequest(steps, about);
  const { outcome, remove } = await runtime.run({ ...request, ...(terms && { terms }) }, never);
  const seen = await look?.(launchName(request.action));
  await remove(never);
  await runtime.close();
  return { outcome, seen, lines: lines.map(({ line }) => line) };
}

async function containers(...filters: readonly string[]): Promise<string[]> {
  const args = filters.flatMap((filter) => ["--filter", filter]);
  const text = await dockerCli("ps", "--all", "--quiet", "--no-trunc", ...args);
  return text.split("\n").filter((line) => line !== "");
}

describeWithDocker("the docker runtime", () => {
  beforeAll(buildScriptedImage, 300_000);
  afterAll(async () => {
    await removeContainers(...(await containers(`label=pbnj-worker.worker=${worker}`)));
  });

  itKeepsTheRuntimeContract(async () => newRuntime());

  it("runs the action as non-root, with a read-only root, a writable /tmp and no capability", async () => {
    const runtime = newRuntime();
    const { request, lines } = scriptedRequest(["user", "rights", "write:/x", "write:/tmp/x", "sleep:60000"]);
    const controller = new AbortController();
    const running = runtime.run(
      {
        ...request,
        onLog: (line) => {
          lines.push(line);
          if (line.line.includes("/tmp/x")) controller.abort();
        },
      },
      controller.signal,
    );

    const ended = await running;
    const [inspected] = JSON.parse(await dockerCli("inspect", launchName(request.action)));
    await ended.remove(never);
    await runtime.close();

    expect(lines.map(({ line }) => line)).toEqual([
      "user 65532",
      "capabilities 0, no new privileges 1",
      "EROFS /x",
      "wrote /tmp/x",
    ]);
    expect(inspected.HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      Privileged: false,
      ...(isRootless ? {} : { Memory: 256 * 1024 * 1024, PidsLimit: 128 }),
    });
    expect(inspected.Config.Labels).toMatchObject({
      "pbnj-worker.workflow": request.action.workflowId,
      "pbnj-worker.action": request.action.actionId,
    });
  });

  it.skipIf(isRootless)("limits a container to the policy's terms", async () => {
    const terms = { memoryBytes: 96 * 1024 * 1024, cpus: 0.5, pids: 40, pull: "never" } as const;
    const look = async (name: string) => JSON.parse(await dockerCli("inspect", name))[0];

    const { lines, seen } = await ran(["user"], { terms, look });

    expect(lines).toEqual(["user 65532"]);
    expect(seen.HostConfig).toMatchObject({
      Memory: terms.memoryBytes,
      MemorySwap: terms.memoryBytes,
      NanoCpus: 500_000_000,
      PidsLimit: 40,
      Privileged: false,
    });
  });

  it("shows the password nowhere: not in inspect, not in /proc", async () => {
    const runtime = newRuntime();
    const controller = new AbortController();
    const scripted = scriptedRequest(["host", "err:up\\n", "sleep:60000"], { connected: true });
    const { request, up } = untilFirstLine(scripted.request);
    const running = runtime.run(request, controller.signal);
    await up;

    const inspected = await dockerCli("inspect", launchName(request.action));
    const pid = await dockerCli("inspect", "--format", "{{.State.Pid}}", launchName(request.action));
    const files = ["environ", "cmdline"].map((name) => `/proc/${pid.trim()}/${name}`);
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    controller.abort();
    await (await running).remove(never);
    await runtime.close();

    expect(inspected).toContain("BMC_CONNECTION_FILE=-");
    expect(texts.some((text) => text.includes("BMC_CONNECTION_FILE=-"))).toBe(true);
    for (const text of [inspected, ...texts]) expect(text).not.toContain(canary);
  });

  it("keeps an ended container until it is removed, and removing it again is no error", async () => {
    const runtime = newRuntime();
    const { request } = scriptedRequest([resultStep({})]);

    const ended = await runtime.run(request, never);
    const kept = await containers(`name=${launchName(request.action)}`);
    await ended.remove(never);
    await ended.remove(never);
    const left = await containers(`name=${launchName(request.action)}`);
    await runtime.close();

    expect(kept).toHaveLength(1);
    expect(left).toEqual([]);
  });

  it("adopts a running action after a restart: the same container, its log from the start, its outcome", async () => {
    const first = newRuntime();
    const scripted = scriptedRequest(["out:begun\\n", "sleep:3000", "host"], { connected: true });
    const { request, up } = untilFirstLine(scripted.request);
    const lost = first.run(request, never);
    await up;
    const [before] = await containers(`name=${launchName(request.action)}`);

    // Closing acts like a crash: every connection breaks, and the engine gets no request.
    await first.close();
    const second = newRuntime();
    const again = { ...request, onLog: scripted.request.onLog };
    scripted.lines.length = 0;
    const ended = await second.run(again, never);
    const [after] = await containers(`name=${launchName(request.action)}`);
    await ended.remove(never);
    await second.close();

    expect((await lost).outcome).toMatchObject({ ok: false, class: "cancelled" });
    expect(after).toBe(before);
    expect(ended.outcome).toMatchObject({ ok: true, message: "reached bmc.example" });
    expect(scripted.lines).toEqual([{ stream: "stdout", line: "begun" }]);
  });

  it("adopts an action that ended while no worker was there", async () => {
    const runtime = newRuntime();
    const failure = { ok: false, class: "busy", message: "the BMC is in POST" };
    const { request, lines } = scriptedRequest(["err:trying\\n", resultStep(failure), "exit:14"]);
    await runtime.run(request, never);

    const ended = await runtime.run(request, never);
    await ended.remove(never);
    await runtime.close();

    expect(ended.outcome).toMatchObject({ ok: false, class: "busy", message: failure.message, exitCode: 14 });
    expect(lines.map(({ line }) => line)).toEqual(["trying", "trying"]);
  });

  it("stops an adopted action at its timeout since the start", async () => {
    const first = newRuntime();
    const scripted = scriptedRequest(["ignore-sigterm", "out:up\\n", "sleep:60000"], { timeoutMs: 5_000 });
    const { request, up } = untilFirstLine(scripted.request);
    const lost = first.run(request, never);
    await up;
    await first.close();
    const second = newRuntime();

    const { outcome, remove } = await second.run(scripted.request, never);
    await remove(never);
    await second.close();
    await lost;

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, killed: true });
    const ranMs = outcome.stoppedAt.getTime() - outcome.startedAt.getTime();
    expect(ranMs).toBeLessThan(60_000);
  });

  it("launches again what was created and never started", async () => {
    const runtime = newRuntime();
    const { request } = scriptedRequest(["host"], { connected: true });
    const { action } = request;
    await dockerCli(
      "create",
      ...["--name", launchName(action), "--label", `pbnj-worker.worker=${worker}`],
      ...["--label", `pbnj-worker.workflow=${action.workflowId}`],
      ...["--label", `pbnj-worker.action=${action.actionId}`],
      ...["--label", `pbnj-worker.agent=${action.agentId}`],
      ...[scriptedImage, "exit:9"],
    );

    const ended = await runtime.run(request, never);
    await ended.remove(never);
    await runtime.close();

    expect(ended.outcome).toMatchObject({ ok: true, message: "reached bmc.example" });
  });

  it.skipIf(isRootless)("reports running out of memory as such", async () => {
    const runtime = { container: { worker, memoryBytes: 96 * 1024 * 1024 } };

    const { outcome } = await ran(["memory:400", "sleep:60000"], { runtime });

    expect(outcome).toMatchObject({ ok: false, class: "internal", killed: true, exitCode: 137 });
    expect(outcome.message).toMatch(/^(killed, |exited 137 \(killed, perhaps )out of memory/);
  });

  it("does not take exit code 0 for success if a child was killed, out of memory", async (context) => {
    const runtime = { container: { worker, memoryBytes: 96 * 1024 * 1024 } };
    const look = (name: string) => dockerCli("inspect", "--format", "{{.State.OOMKilled}}", name);

    const { outcome, seen } = await ran(["child-memory:400", resultStep({})], { runtime, look });

    // Podman does not, nor does containerd where it cannot find the container's cgroup.
    if (seen !== "true") context.skip("the engine did not notice the child that was killed");
    expect(outcome).toMatchObject({ ok: false, class: "internal", exitCode: 0 });
    expect(outcome.message).toMatch(/^a process of the action was killed, out of memory/);
  });

  it.each([
    ["member", ["COPY passwd /etc/passwd", "COPY group /etc/group"]],
    ["1000:0", []],
  ])("runs as a user and group that are not root, whatever user %s of the image is", async (user, files) => {
    const image = `localhost/pbnj-worker/scripted-user:test`;
    await buildVariant(image, [...files, `USER ${user}`]);

    const { outcome, lines } = await ran(["ids"], { action: { image } });
    await dockerCli("rmi", "--force", image);

    expect(outcome).toMatchObject({ ok: true });
    expect(JSON.parse(lines[0] ?? "")).toEqual({ uid: 65_532, gid: 65_532, groups: [65_532] });
  });

  it("keeps an image's volumes in memory and within their size", async () => {
    const image = "localhost/pbnj-worker/scripted-volume:test";
    await buildVariant(image, ['VOLUME ["/cache", "/var/spool"]']);

    const { lines, seen } = await ran(["write:/cache/x", "write:/var/spool/x", "fill:/cache/big"], {
      runtime: { container: { worker, tmpBytes: 1024 * 1024 } },
      action: { image },
      look: (name) => dockerCli("inspect", "--format", "{{range .Mounts}}{{.Type}} {{end}}", name),
    });
    await dockerCli("rmi", "--force", image);

    expect(lines).toEqual(["wrote /cache/x", "wrote /var/spool/x", "ENOSPC /cache/big"]);
    expect(seen).not.toContain("volume");
  });

  // Podman makes one, within the folders that the policy lists.
  it.skipIf(isPodman)("makes no folder on the host for a volume that is not there", async () => {
    const missing = `/tmp/pbnj-missing-${randomUUID()}`;

    const { outcome } = await ran([], { action: { volumes: [`${missing}:/data:ro`] } });

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toContain(missing);
    await expect(readFile(missing)).rejects.toThrow("ENOENT: no such file or directory");
  });

  describe("a registry that demands a login", () => {
    const image = `127.0.0.1:${REGISTRY_PORT}/team/power-status:v1`;
    const seen = new Set<string>();
    const registry = createServer((request, response) => {
      const login = Buffer.from(
        (request.headers.authorization ?? "").slice("Basic ".length),
        "base64",
      ).toString();
      seen.add(login);
      const [status, code] = login.startsWith("u:p") ? [404, "MANIFEST_UNKNOWN"] : [401, "UNAUTHORIZED"];
      const isVersion = status === 404 && request.url === "/v2/";
      response.writeHead(isVersion ? 200 : status, {
        "content-type": "application/json",
        "www-authenticate": 'Basic realm="registry"',
      });
      const message = status === 404 ? "manifest unknown" : "authentication required";
      response.end(isVersion ? "{}" : JSON.stringify({ errors: [{ code, message }] }));
    });
    beforeAll(() => new Promise<void>((resolve) => registry.listen(REGISTRY_PORT, "127.0.0.1", resolve)));
    afterAll(() => void registry.close());

    function pull(password: string) {
      const login = { registry: `127.0.0.1:${REGISTRY_PORT}`, username: "u", password: new Secret(password) };
      return ran([], { runtime: { registries: [login] }, action: { image } });
    }

    // The padding of its encoding repeats every third.
    it.each([1, 2, 3])("receives a password of %i characters", async (length) => {
      seen.clear();

      const { outcome } = await pull("p".repeat(length));

      expect([...seen]).toContain(`u:${"p".repeat(length)}`);
      expect(outcome).toMatchObject({
        ok: false,
        class: "usage",
        message: expect.stringContaining("manifest unknown"),
      });
    });

    it("refuses a wrong password, or none, with class auth", async () => {
      for (const { outcome } of [await pull("wrong"), await ran([], { action: { image } })])
        expect(outcome).toMatchObject({ ok: false, class: "auth" });
    });
  });
});
