import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { DockerRuntime } from "../../../../worker/runtimes/docker/docker-runtime.ts";
import { PrivateEngine } from "../../../chaos/private-engine.ts";
import { buildScriptedImage, describeWithDocker, isPodman, scriptedImage } from "../../../support/docker.ts";
import { scriptedRequest } from "../../../worker/runtimes/launch-request.ts";

const never = new AbortController().signal;
const DOWN_MS = 4_000;

describeWithDocker("an engine that restarts", () => {
  if (isPodman) {
    it.skip("is Docker: Podman has no daemon that its containers depend on", () => undefined);
    return;
  }
  let folder = "";
  let engine: PrivateEngine;
  beforeAll(async () => {
    await buildScriptedImage();
    folder = await mkdtemp(join(tmpdir(), "pbnj-restart-"));
    engine = await PrivateEngine.start(join(folder, "engine"), [scriptedImage]);
  }, 300_000);
  afterAll(async () => {
    await engine?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }, 120_000);

  const newRuntime = () =>
    new DockerRuntime({
      log: silentLogger,
      container: { worker: "engine-restart-test", network: "none" },
      socketPath: engine.socket,
    });

  it("costs an action that was not launched time, and nothing else", async () => {
    const runtime = newRuntime();
    const restarted = engine.restart("SIGTERM", DOWN_MS);
    await sleep(DOWN_MS / 2);

    const { request, lines } = scriptedRequest(["out:once\\n", "host"], { connected: true });
    const ended = await runtime.run(request, never);
    await restarted;
    await ended.remove(never);
    await runtime.close();

    expect(ended.outcome).toMatchObject({ ok: true, message: "reached bmc.example" });
    expect(lines.map(({ line }) => line)).toEqual(["once"]);
  });

  // Docker loses what is written while its daemon is dead, and keeps the exit code.
  it("keeps the exit code, and with it the class, of an action that ended while it was away", async () => {
    const runtime = newRuntime();
    const { request, lines } = scriptedRequest(["out:up\\n", "sleep:2000", "exit:15"]);
    const running = runtime.run(request, never);
    await expect.poll(() => lines.length).toBe(1);

    await engine.restart("SIGKILL", DOWN_MS);
    const ended = await running;
    await ended.remove(never);
    await runtime.close();

    expect(ended.outcome).toMatchObject({ ok: false, class: "verify", exitCode: 15 });
    expect(lines.map(({ line }) => line)).toEqual(["up"]);
  });
});
