import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { LaunchNotRecorded, type LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { TO_BEGIN } from "../../../../worker/features/legacy/legacy-messages.ts";
import { actionLabels } from "../../../../worker/runtimes/docker/container-spec.ts";
import { DockerRuntime } from "../../../../worker/runtimes/docker/docker-runtime.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import {
  buildScriptedImage,
  describeWithDocker,
  dockerCli,
  dockerSocketPath,
  removeContainers,
  scriptedImage,
} from "../../../support/docker.ts";
import { empty, FakeEngine, inTurn, json } from "../../../worker/runtimes/docker/fake-engine.ts";
import { resultStep, scriptedRequest } from "../../../worker/runtimes/launch-request.ts";

const never = new AbortController().signal;
const worker = "leftovers-test";
const HOUR_MS = 60 * 60_000;
const keepNone = () => false;

function newRuntime(container: { readonly state?: string; readonly instance?: string } = {}): DockerRuntime {
  return new DockerRuntime({
    log: silentLogger,
    socketPath: dockerSocketPath,
    container: { worker, ...container },
    stopGraceMs: 1_000,
  });
}

function leftAction(
  { action, timeoutMs, onLog }: LaunchRequest,
  more: { handle?: boolean; connected?: boolean; damaged?: true } = {},
) {
  const { handle = true, connected = false, damaged } = more;
  const launched = { ...(handle && { handle: { container: "recorded" } }), ...(damaged && { damaged }) };
  return { action, startedAt: new Date(), clockSetMs: 0, timeoutMs, onLog, connected, ...launched };
}

async function names(): Promise<readonly string[]> {
  const text = await dockerCli(
    "ps",
    "--all",
    "--format",
    "{{.Names}}",
    "--filter",
    `label=pbnj-worker.worker=${worker}`,
  );
  return text.split("\n").filter((line) => line !== "");
}

describeWithDocker("what workers left in a container engine", () => {
  beforeAll(buildScriptedImage, 300_000);
  afterAll(async () => removeContainers(...(await names())));

  /** A container as a worker that is gone left it. Resolves to its name. */
  async function left(
    options: { readonly state?: string; readonly instance?: string },
    deadline: Date,
    how: "create" | "run" = "run",
    action = scriptedRequest([]).request.action,
  ): Promise<{ readonly name: string; readonly key: string }> {
    const name = launchName(action);
    const labels = actionLabels(action, { worker, ...options }, deadline.getTime() - Date.now());
    await dockerCli(
      how,
      ...(how === "run" ? ["--detach"] : []),
      ...["--name", name, "--network", "none"],
      ...Object.entries(labels).flatMap(([label, value]) => ["--label", `${label}=${value}`]),
      ...[scriptedImage, "sleep:600000"],
    );
    return { name, key: labels["pbnj-worker.key"] ?? "" };
  }

  it("is removed if this state directory launched it and no worker needs it, or if it is long overdue", async () => {
    const [mine, other] = [randomUUID(), randomUUID()];
    const soon = new Date(Date.now() + HOUR_MS);
    const late = new Date(Date.now() - HOUR_MS - 60_000);
    const recently = new Date(Date.now() - HOUR_MS + 60_000);
    // Workers of other tests remove what is overdue, too.
    const kept = await left({ state: mine }, recently);
    const spared = [
      kept,
      await left({ state: mine, instance: "this-process" }, recently),
      await left({ state: other }, recently),
      await left({}, recently, "create"),
    ];
    const own = [
      await left({ state: mine, instance: "an-earlier-process" }, soon),
      await left({ state: mine }, soon, "create"),
    ];
    const overdue = [await left({ state: other }, late), await left({}, late, "create")];
    const runtime = newRuntime({ state: mine, instance: "this-process" });

    const count = await runtime.sweep((key) => key === kept.key, never);
    await runtime.close();

    const after = await names();
    expect(count).toBeGreaterThanOrEqual(own.length);
    expect(after).toEqual(expect.arrayContaining(spared.map(({ name }) => name)));
    expect([...own, ...overdue].filter(({ name }) => after.includes(name))).toEqual([]);
  });

  it("is never what a live worker runs, this one or another", async () => {
    const one = newRuntime({ state: randomUUID(), instance: randomUUID() });
    const two = newRuntime({ state: randomUUID(), instance: randomUUID() });
    const run = newRuntime({ instance: randomUUID() });
    const up = Promise.withResolvers<void>();
    const controller = new AbortController();
    const { request } = scriptedRequest(["on-sigterm:143", "out:up\\n", "sleep:60000"]);
    const running = one.run({ ...request, onLog: () => up.resolve() }, controller.signal);
    await up.promise;

    for (const options of [one, two, run]) await options.sweep(keepNone, never);
    const during = await names();
    controller.abort();
    const ended = await running;
    await ended.remove(never);
    for (const runtime of [one, two, run]) await runtime.close();

    expect(during).toContain(launchName(request.action));
    expect(ended.outcome).toMatchObject({ class: "cancelled", exitCode: 143 });
  });

  it("and was created without being started counts as not launched, recorded or not, and is removed", async () => {
    const runtime = newRuntime();
    for (const handle of [true, false]) {
      const { request } = scriptedRequest([]);
      const { name } = await left({}, new Date(Date.now() + HOUR_MS), "create", request.action);

      const adoption = await runtime.adopt(leftAction(request, { handle }), never);

      expect(adoption).toEqual({ kind: "not-launched" });
      expect(await names()).not.toContain(name);
    }
    await runtime.close();
  });

  it("and is not there counts as not launched without a record, and as lost with one or a damaged one", async () => {
    const runtime = newRuntime();
    const { request } = scriptedRequest([]);

    const without = await runtime.adopt(leftAction(request, { handle: false }), never);
    const withRecord = await runtime.adopt(leftAction(request), never);
    const damaged = await runtime.adopt(leftAction(request, { handle: false, damaged: true }), never);
    await runtime.close();

    expect(without).toEqual({ kind: "not-launched" });
    expect(damaged).toEqual(withRecord);
    expect(withRecord).toEqual({
      kind: "lost",
      reason: "the worker was restarted, and the action's container is gone",
      idempotent: false,
    });
  });

  it("and ended because its input broke off counts as not launched, and is removed", async () => {
    const runtime = newRuntime();
    const usage = resultStep({ ok: false, class: "usage", message: "no connection", roundTrips: 0 });
    const { request } = scriptedRequest([usage, "exit:2"]);
    await runtime.run(request, never);

    const adoption = await runtime.adopt(leftAction(request, { connected: true }), never);
    await runtime.close();

    expect(adoption).toEqual({ kind: "not-launched" });
    expect(await names()).not.toContain(launchName(request.action));
  });

  it("is not started if its launch cannot be recorded, and leaves nothing", async () => {
    const runtime = newRuntime();
    const { request, lines } = scriptedRequest(["out:up\\n"]);
    const unwritable = new LaunchNotRecorded(new Error("ENOSPC: no space left on device"));

    const running = runtime.run({ ...request, onLaunch: () => Promise.reject(unwritable) }, never);

    await expect(running).rejects.toBe(unwritable);
    await runtime.close();
    expect(lines).toEqual([]);
    expect(await names()).not.toContain(launchName(request.action));
  });

  it("of an ID that may return is adopted, and launched again once the earlier run is removed", async () => {
    const runtime = newRuntime();
    const { request } = scriptedRequest([resultStep({ message: "anew" })], {
      action: { returningIds: TO_BEGIN },
    });
    const before = { ...request.action, command: [resultStep({ message: "before" })] };
    await runtime.run({ ...request, action: before }, never);

    const adopted = await runtime.run(request, never);
    const earlier = await runtime.earlierRun(request.action, never);
    await earlier?.remove(never);
    const ended = await runtime.run(request, never);
    await ended.remove(never);
    const nothing = await runtime.earlierRun(request.action, never);
    await runtime.close();

    expect([earlier?.hasEnded, nothing]).toEqual([true, undefined]);
    expect([adopted, ended].map(({ outcome }) => outcome.message)).toEqual(["before", "anew"]);
  });
});

describe("a container whose start is pending when the worker restarts", () => {
  it("is adopted, not removed", async () => {
    const { request } = scriptedRequest([]);
    const labels = actionLabels(request.action, { worker }, 0);
    const at = new Date().toISOString();
    const details = (Status: string, StartedAt: string, FinishedAt: string) =>
      json(200, {
        Id: "c1",
        State: { Status, ExitCode: 0, StartedAt, FinishedAt },
        Config: { Labels: labels },
      });
    const zero = "0001-01-01T00:00:00Z";
    const engine = await FakeEngine.start({
      "GET /containers/*/json": inTurn(details("created", zero, zero), details("exited", at, at)),
      "DELETE /containers/*": json(409, { message: "You cannot remove a running container" }),
      "POST /containers/*/wait": json(200, { StatusCode: 0 }),
      "GET /containers/*/logs": empty(200),
    });
    const runtime = new DockerRuntime({
      log: silentLogger,
      socketPath: engine.socketPath,
      container: { worker },
    });

    const adoption = await runtime.adopt(leftAction(request), never);
    await runtime.close();
    await engine.stop();

    expect(adoption).toMatchObject({ kind: "ended", ended: { outcome: { ok: true, exitCode: 0 } } });
    expect(engine.requests).toContain("DELETE /containers/c1?v=1");
  });
});
