import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import type { Action } from "../../../../worker/core/action/action.ts";
import { actionLabels, LABEL } from "../../../../worker/runtimes/docker/container-spec.ts";
import {
  DockerRuntime,
  type DockerRuntimeOptions,
} from "../../../../worker/runtimes/docker/docker-runtime.ts";
import { canary, resultStep, scriptedRequest } from "../launch-request.ts";
import {
  empty,
  FakeEngine,
  frame,
  hangUp,
  inTurn,
  json,
  type OnAttach,
  type Routes,
  silence,
} from "./fake-engine.ts";

const never = new AbortController().signal;
const ID = "c0ffee";
const result = resultStep({}).slice("result:".length);

const image = json(200, { Id: "sha256:1", Config: { User: "" } });
const created = json(201, { Id: ID });

function details(
  state: Readonly<Record<string, unknown>> = {},
  labels: Readonly<Record<string, string>> = {},
) {
  const State = {
    Status: "exited",
    OOMKilled: false,
    ExitCode: 0,
    Error: "",
    StartedAt: "2026-01-01T10:00:00.123456789Z",
    FinishedAt: "2026-01-01T10:00:02.5Z",
    ...state,
  };
  return json(200, { Id: ID, State, Config: { Labels: labels } });
}

/** An engine on which everything goes well, but for what a test changes. */
const sound: Routes = {
  "GET /images/*/json": image,
  "POST /containers/create": created,
  "POST /containers/*/start": empty(204),
  "POST /containers/*/wait": json(200, { StatusCode: 0 }),
  "GET /containers/*/json": details(),
  "GET /containers/*/logs": (response) => response.end(frame("stdout", `${result}\n`)),
  "DELETE /containers/*": empty(204),
};

function sendResult(socket: Socket): void {
  socket.end(frame("stdout", `${result}\n`));
}

let engine: FakeEngine | undefined;
let runtime: DockerRuntime | undefined;

async function start(
  routes: Routes,
  onAttach: OnAttach = sendResult,
  options: Partial<DockerRuntimeOptions> = {},
): Promise<{ engine: FakeEngine; runtime: DockerRuntime }> {
  engine = await FakeEngine.start({ ...sound, ...routes }, onAttach);
  runtime = new DockerRuntime({
    log: silentLogger,
    container: { worker: "w" },
    socketPath: engine.socketPath,
    requestTimeoutMs: 2_000,
    stopGraceMs: 500,
    ...options,
  });
  return { engine, runtime };
}

afterEach(async () => {
  await runtime?.close();
  await engine?.stop();
});

function labelsOf(action: Action) {
  return actionLabels(action, { worker: "w" }, 0);
}

describe("the docker runtime, with an engine that fails", () => {
  it("runs an action in seven requests, and writes the connection before the start", async () => {
    const { engine, runtime } = await start({});

    const { outcome } = await runtime.run(scriptedRequest([], { connected: true }).request, never);

    expect(outcome).toMatchObject({ ok: true, message: "done" });
    expect(outcome.startedAt.toISOString()).toBe("2026-01-01T10:00:00.123Z");
    expect(engine.requests.map((request) => request.replace(/\?.*/, ""))).toEqual([
      "GET /version",
      "GET /images/localhost%2Fpbnj-worker%2Fscripted%3Atest/json",
      "POST /containers/create",
      `POST /containers/${ID}/attach`,
      `POST /containers/${ID}/start`,
      `POST /containers/${ID}/wait`,
      `GET /containers/${ID}/json`,
    ]);
    expect(JSON.parse(engine.stdin)).toMatchObject({ host: "bmc.example", password: canary });
    expect(engine.requests.join()).not.toContain(canary);
  });

  it("requests the version once, and uses the oldest of an engine that dropped this client's", async () => {
    const { engine, runtime } = await start({
      "GET /version": json(200, { ApiVersion: "1.52", MinAPIVersion: "1.44" }),
    });

    await runtime.run(scriptedRequest([]).request, never);
    await runtime.run(scriptedRequest([]).request, never);

    expect(engine.requests.filter((request) => request === "GET /version")).toHaveLength(1);
    expect([...engine.versions]).toEqual(["1.44"]);
  });

  it("refuses an engine that is too old, by its version", async () => {
    const { runtime } = await start({ "GET /version": json(200, { ApiVersion: "1.39" }) });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "unsupported" });
    expect(outcome.message).toBe("the engine speaks API 1.39, 1.40 is needed");
  });

  it("reports the engine's own reason when it refuses to create, and leaves nothing behind", async () => {
    const { engine, runtime } = await start({
      "POST /containers/create": json(500, { message: "no space left on device" }),
    });

    const { outcome, remove } = await runtime.run(scriptedRequest([]).request, never);
    await remove(never);

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toBe("creating the container: no space left on device");
    expect(engine.requests.some((request) => request.startsWith("DELETE"))).toBe(false);
  });

  it("removes the container whose start fails", async () => {
    const { engine, runtime } = await start({
      "POST /containers/*/start": json(400, { message: "exec: no such file" }),
    });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toBe("starting the container: exec: no such file");
    expect(engine.requests.at(-1)).toBe(`DELETE /containers/${ID}?force=1&v=1`);
  });

  it.each([
    [
      "409 Conflict",
      '{"cause":"x","message":"preparing container 1 for attach: crun: no cgroup","response":409}',
      "state",
      "preparing container 1 for attach: crun: no cgroup",
    ],
    [
      "500 Internal Server Error",
      '{"message":"unable to find user nobody2: no matching entries in passwd file"}',
      "usage",
      "unable to find user nobody2: no matching entries in passwd file",
    ],
    ["404 Not Found", "", "usage", "HTTP 404"],
  ])(
    "reports why attaching is refused (%s), removes the container and starts nothing",
    async (status, body, errorClass, reason) => {
      const { engine, runtime } = await start({}, { status, body });

      const { outcome } = await runtime.run(scriptedRequest([]).request, never);

      expect(outcome).toMatchObject({ ok: false, class: errorClass });
      expect(outcome.message).toBe(`attaching to the container: ${reason}`);
      expect(engine.requests.some((request) => request.endsWith("/start"))).toBe(false);
      expect(engine.requests.at(-1)).toBe(`DELETE /containers/${ID}?force=1&v=1`);
    },
  );

  it.each([
    ["Docker", "POST /containers/*/start", json(404, { message: "network lab not found" })],
    [
      "Podman",
      "POST /containers/create",
      json(500, {
        message: "container create: unable to find network with name or ID lab: network not found",
      }),
    ],
  ])("has one class for a network that does not exist: %s", async (_, route, reply) => {
    const { runtime } = await start({ [route]: reply });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage", message: expect.stringContaining("network") });
  });

  describe("a create whose response was lost", () => {
    const { request } = scriptedRequest([], { timeoutMs: 300 });

    /** What is there afterwards, from this create or from a later one. */
    async function lost(whose: "its own" | "a later one") {
      let labels: Readonly<Record<string, string>> = {};
      const { engine, runtime } = await start({
        "POST /containers/create": (response, _, body) => {
          labels = JSON.parse(body).Labels;
          if (whose === "a later one") labels = { ...labels, [LABEL.deadline]: "2030-01-01T00:00:00.000Z" };
          response.destroy();
        },
        "GET /containers/*/json": (...asked) => details({ Status: "created" }, labels)(...asked),
      });
      const ended = await runtime.run(request, never);
      await ended.remove(never);
      return { engine, outcome: ended.outcome };
    }

    it("has its container removed, also when the engine was away for long", async () => {
      const { engine, outcome } = await lost("its own");

      expect(outcome).toMatchObject({ ok: false, class: "unreachable" });
      expect(engine.requests.at(-1)).toBe(`DELETE /containers/${ID}?force=1&v=1`);
    });

    it("leaves the container of a later one alone", async () => {
      const { engine } = await lost("a later one");

      expect(engine.requests.filter((each) => each.startsWith("DELETE"))).toEqual([]);
    });
  });

  it("times out if the engine accepts a request and never answers", async () => {
    const { runtime } = await start({ "GET /images/*/json": silence }, sendResult, { requestTimeoutMs: 200 });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "unreachable" });
    expect(outcome.message).toContain("gave no answer within 200 ms");
  });

  it("neither loses nor repeats a line when the attached connection breaks", async () => {
    const { runtime } = await start(
      {
        "GET /containers/*/logs": (response) => {
          response.write(frame("stdout", "one\ntwo\n"));
          response.write(frame("stderr", "three\n"));
          response.end(frame("stdout", `four\n${result}\n`));
        },
      },
      (socket) => {
        const whole = frame("stdout", "one\ntw");
        socket.write(whole, () => socket.destroy());
      },
    );
    const { request, lines } = scriptedRequest([]);

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: true, message: "done" });
    expect(lines.map(({ line }) => line)).toEqual(["one", "two", "three", "four"]);
  });

  it("continues to wait while the engine is away", async () => {
    const { engine, runtime } = await start({
      "POST /containers/*/wait": inTurn(
        hangUp,
        json(500, { message: "starting" }),
        json(200, { StatusCode: 0 }),
      ),
    });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: true });
    expect(engine.requests.filter((request) => request.endsWith("/wait"))).toHaveLength(3);
  });

  describe("an engine that restarts", () => {
    const launched = (engine: FakeEngine) =>
      engine.requests.filter((request) => /^POST .*\/(create|start)/.test(request)).length;

    it.each([
      ["GET /version", inTurn(hangUp, hangUp, json(200, { ApiVersion: "1.41" }))],
      ["GET /images/*/json", inTurn(hangUp, image)],
      ["POST /containers/create", inTurn(hangUp, created)],
    ])("before the launch (%s) costs time only", async (route, reply) => {
      const { runtime } = await start({ [route]: reply });
      const progress: unknown[] = [];
      const request = { ...scriptedRequest([]).request, onProgress: progress.push.bind(progress) };

      const { outcome } = await runtime.run(request, never);

      expect(outcome).toMatchObject({ ok: true, message: "done" });
      expect(progress).toContainEqual({ text: "waiting for the container engine" });
    });

    it("is waited for within the action's time", async () => {
      const { runtime } = await start({}, sendResult, { socketPath: "/nonexistent/engine.sock" });
      const fromMs = performance.now();

      const { outcome } = await runtime.run(scriptedRequest([], { timeoutMs: 500 }).request, never);

      expect(outcome).toMatchObject({
        class: "unreachable",
        message: "no container engine: /nonexistent/engine.sock does not exist",
      });
      expect(performance.now() - fromMs).toBeGreaterThan(480);
    });

    it.each([
      ["true", "launches it again, with its whole input, if it is idempotent", true, "done"],
      [
        "false",
        "does not launch it again if it is not: the engine may not have recorded the start",
        false,
        "the container engine restarted while it started the action, which may have run",
      ],
    ])(
      "during the start finds the container not started (idempotent: %s), and %s",
      async (label, _, ok, message) => {
        const { request } = scriptedRequest([], { connected: true });
        const unstarted = { Status: "created", StartedAt: "0001-01-01T00:00:00Z" };
        const { engine, runtime } = await start({
          "GET /images/*/json": json(200, {
            Id: "1",
            Config: { Labels: { "pbnj-worker.idempotent": label } },
          }),
          "POST /containers/*/start": inTurn(hangUp, empty(204)),
          "GET /containers/*/json": inTurn(details(unstarted, labelsOf(request.action)), details()),
        });

        const { outcome } = await runtime.run(request, never);

        expect(outcome).toMatchObject({ ok, message });
        expect(engine.stdin.match(/"host":"bmc.example"/g)).toHaveLength(ok ? 2 : 1);
        expect(launched(engine)).toBe(ok ? 4 : 2);
      },
    );

    it("during the start finds the container started, and follows it without a second start", async () => {
      const { request } = scriptedRequest([], { connected: true });
      const { engine, runtime } = await start({
        "POST /containers/*/start": hangUp,
        "GET /containers/*/json": details({}, labelsOf(request.action)),
      });

      const { outcome } = await runtime.run(request, never);

      expect(outcome).toMatchObject({ ok: true, message: "done" });
      expect(launched(engine)).toBe(2);
    });

    it("and has lost a container that may have run: nothing is launched again", async () => {
      const { engine, runtime } = await start({
        "POST /containers/*/start": hangUp,
        "GET /containers/*/json": json(404, { message: "No such container" }),
      });

      const { outcome } = await runtime.run(scriptedRequest([], { connected: true }).request, never);

      expect(outcome).toMatchObject({
        class: "state",
        message: "the container was removed by someone else, and it may have run",
      });
      expect(launched(engine)).toBe(2);
    });

    it("keeps what an action wrote and how it ended while the engine was away", async () => {
      const failure = resultStep({ ok: false, class: "verify", message: "it reverted" }).slice(
        "result:".length,
      );
      const { runtime } = await start(
        {
          "POST /containers/*/wait": inTurn(hangUp, json(200, { StatusCode: 0 })),
          "GET /containers/*/json": inTurn(hangUp, hangUp, details()),
          "GET /containers/*/logs": inTurn(hangUp, (response) =>
            response.end(frame("stdout", `${failure}\n`)),
          ),
        },
        (socket) => socket.destroy(),
      );

      const { outcome } = await runtime.run(scriptedRequest([]).request, never);

      expect(outcome).toMatchObject({ ok: false, class: "verify", message: "it reverted", exitCode: 0 });
    });
  });

  it("adopts a container also from Podman, which answers 500 for a name that is taken", async () => {
    const { request } = scriptedRequest([]);
    const { engine, runtime } = await start({
      "POST /containers/create": json(500, {
        message:
          'creating container storage: the container name "x" is already in use by c0ffee. You have to remove it',
      }),
      "GET /containers/*/json": details({}, labelsOf(request.action)),
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: true, message: "done" });
    expect(engine.requests.some((line) => line.endsWith("/start"))).toBe(false);
  });

  it("waits for Podman to record the end of a container that it shows as stopped", async () => {
    const { runtime } = await start({
      "GET /containers/*/json": inTurn(details({ Status: "stopped", ExitCode: 0 }), details({ ExitCode: 3 })),
    });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, exitCode: 3 });
  });

  it("does not take exit code 0 for success where memory ran out", async () => {
    const { runtime } = await start({ "GET /containers/*/json": details({ OOMKilled: true }) });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "internal", exitCode: 0 });
    expect(outcome.message).toBe(
      "a process of the action was killed, out of memory, although the action exited 0: done",
    );
  });

  it("kills what a failed stop leaves running, and reports a timeout", async () => {
    const { engine, runtime } = await start(
      {
        "POST /containers/*/wait": inTurn(silence, json(200, { StatusCode: 137 })),
        "POST /containers/*/stop": json(500, { message: "cannot stop" }),
        "POST /containers/*/kill": empty(204),
        "GET /containers/*/json": details({ ExitCode: 137 }),
        "GET /containers/*/logs": empty(200),
      },
      (socket) => socket.end(frame("stderr", "waiting\n")),
    );

    const { outcome } = await runtime.run(scriptedRequest([], { timeoutMs: 300 }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, killed: true });
    expect(outcome.message).toBe("timed out after 0.3 s: waiting");
    expect(engine.requests).toContain(`POST /containers/${ID}/kill`);
  });

  it.each([
    ["lines", "too much\n", /the last words$/],
    ["a line that does not end", "too much ", /too much .*characters cut\]$/],
  ])(
    "stops an action that floods with %s after a second, and reads only its last lines",
    async (_, text, end) => {
      const flood = Buffer.concat([
        frame("stderr", text.repeat(100_000)),
        // Dropped like the lines; after a line that does not end it is the first one.
        frame("stdout", "so much\n"),
      ]);
      const { engine, runtime } = await start(
        {
          "POST /containers/*/wait": inTurn(silence, json(200, { StatusCode: 137 })),
          "POST /containers/*/stop": empty(204),
          "GET /containers/*/json": details({ ExitCode: 137 }),
          "GET /containers/*/logs": (response) => response.end(frame("stderr", "the last words\n")),
        },
        (socket) => {
          const write = () => socket.write(flood, (error) => error ?? setImmediate(write));
          write();
        },
        { stopGraceMs: 10_000 },
      );
      const { request, lines } = scriptedRequest([]);
      const controller = new AbortController();
      const stop = () => controller.abort();
      const onLog: typeof request.onLog = (line) => {
        request.onLog(line);
        if (line.line === "so much") stop();
      };

      const { outcome } = await runtime.run({ ...request, onLog, onDropping: stop }, controller.signal);

      expect(outcome).toMatchObject({ class: "cancelled", message: expect.stringMatching(end) });
      expect(engine.requests).toContain(`POST /containers/${ID}/stop?t=1`);
      expect(engine.requests).toContain(`GET /containers/${ID}/logs?stdout=1&stderr=1&follow=0&tail=10`);
      expect(lines.length).toBeLessThan(5_000);
    },
  );

  it("reports no outcome for a container that cannot be stopped", async () => {
    const { engine, runtime } = await start({
      "POST /containers/*/wait": inTurn(silence, json(200, {})),
      "POST /containers/*/stop": empty(204),
      "GET /containers/*/json": details({ Status: "running" }),
    });

    const { outcome, remove } = await runtime.run(scriptedRequest([], { timeoutMs: 300 }).request, never);
    await remove(never);

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toBe("the container could not be stopped: it is running");
    expect(engine.requests.at(-1)).toBe(`DELETE /containers/${ID}?force=1&v=1`);
  });

  it("reports that another client removed the container", async () => {
    const { runtime } = await start({
      "POST /containers/*/wait": json(404, { message: "No such container" }),
      "GET /containers/*/json": json(404, { message: "No such container" }),
    });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "state", killed: true });
    expect(outcome.message).toBe("the container was removed by someone else; it had reported: done");
  });

  it("counts an adopted action as timed out if it ended at its timeout or later", async () => {
    const { request } = scriptedRequest([], { timeoutMs: 2_000 });
    const { engine, runtime } = await start({
      "POST /containers/create": json(409, { message: "Conflict" }),
      "GET /containers/*/json": details({ ExitCode: 143 }, labelsOf(request.action)),
      "GET /containers/*/logs": (response) => response.end(frame("stderr", "waiting\n")),
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, exitCode: 143 });
    expect(engine.requests.some((line) => line.endsWith("/start"))).toBe(false);
  });

  it("stops an adopted action at its timeout, also if the engine's clock is ahead", async () => {
    const { request } = scriptedRequest([], { timeoutMs: 200 });
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const notYet = "0001-01-01T00:00:00Z";
    const ended = Promise.withResolvers<void>();
    let running = true;
    const { runtime } = await start({
      "POST /containers/create": json(409, { message: "Conflict" }),
      "GET /containers/*/json": (...asked) => {
        const state = { Status: "running", StartedAt: inAnHour, FinishedAt: notYet };
        details(running ? state : { ExitCode: 143 }, labelsOf(request.action))(...asked);
      },
      "GET /containers/*/logs": (response) => response.end(frame("stderr", "waiting\n")),
      "POST /containers/*/stop": (...asked) => {
        running = false;
        ended.resolve();
        empty(204)(...asked);
      },
      "POST /containers/*/wait": (...asked) =>
        void ended.promise.then(() => json(200, { StatusCode: 143 })(...asked)),
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true });
  });

  it("retries the create when the container that had the name disappears", async () => {
    const { runtime } = await start({
      "POST /containers/create": inTurn(json(409, { message: "Conflict" }), created),
      "GET /containers/*/json": inTurn(json(404, { message: "none" }), details()),
    });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: true });
  });

  it("reports a failed removal, and counts a missing container as removed", async () => {
    const { runtime } = await start({
      "DELETE /containers/*": inTurn(json(500, { message: "device busy" }), json(404, { message: "none" })),
    });
    const { remove } = await runtime.run(scriptedRequest([]).request, never);

    await expect(remove(never)).rejects.toThrow("removing the container: device busy");
    await expect(remove(never)).resolves.toBeUndefined();
  });
});

describe("pulling an image", () => {
  const missing = json(404, { message: "No such image" });
  const connected = [{ registry: "registry.example:5000", username: "u", password: new Secret(canary) }];
  const action = { image: "registry.example:5000/acme/power-off:v1" };
  const LAYER = "2d7a1b6f0c3e";

  function pulls(...lines: readonly Readonly<Record<string, unknown>>[]): Routes[string] {
    return (response) => response.end(lines.map((line) => `${JSON.stringify(line)}\r\n`).join(""));
  }

  it("logs in to registries with configured credentials, never logs them, and counts layers", async () => {
    const logged: LogFields[] = [];
    const write = (fields: LogFields, message: string) => void logged.push({ ...fields, message });
    const log: Logger = { debug: write, info: write, warn: write, error: write };
    const { engine, runtime } = await start(
      {
        "GET /images/*/json": inTurn(missing, image),
        "POST /images/create": pulls(
          { status: "Pulling from acme/power-off", id: "v1" },
          { status: "Pulling fs layer", id: LAYER },
          { status: "Pull complete", id: LAYER },
        ),
      },
      sendResult,
      { registries: connected, log },
    );

    const shown: unknown[] = [];
    const request = { ...scriptedRequest([], { action }).request, onProgress: shown.push.bind(shown) };
    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: true });
    expect(shown).toEqual([
      { text: "pulling image", limitMs: 600_000 },
      { text: "pulling image, 0 of 1 layers" },
      { text: "pulling image, 1 of 1 layers" },
      undefined,
    ]);
    expect(engine.requests).toContain(
      "POST /images/create?fromImage=registry.example%3A5000%2Facme%2Fpower-off&tag=v1",
    );
    expect(JSON.parse(Buffer.from(engine.registryAuth ?? "", "base64url").toString())).toEqual({
      username: "u",
      password: canary,
      serveraddress: "registry.example:5000",
    });
    expect(logged.map(({ message }) => message)).toEqual(["pulling image", "image pulled"]);
    expect(JSON.stringify(logged)).not.toContain(canary);
  });

  it.each(["p", "pp", "ppp", "pppp", "ppppp", "pppppp", "ppppppp", "\u00ff\u00ffÿ~?>"])(
    "pads the login with the password %s, as the engines' decoder demands",
    async (password) => {
      const { engine, runtime } = await start(
        { "GET /images/*/json": inTurn(missing, image), "POST /images/create": pulls({ status: "ok" }) },
        sendResult,
        {
          registries: [{ registry: "registry.example:5000", username: "u", password: new Secret(password) }],
        },
      );

      await runtime.run(scriptedRequest([], { action }).request, never);

      const header = engine.registryAuth ?? "";
      expect(header).toMatch(/^[\w-]+={0,2}$/);
      expect(header.length % 4).toBe(0);
      expect(JSON.parse(Buffer.from(header, "base64url").toString())).toMatchObject({
        username: "u",
        password,
      });
    },
  );

  it("sends no credentials to another registry", async () => {
    const { engine, runtime } = await start(
      { "GET /images/*/json": inTurn(missing, image), "POST /images/create": pulls({ status: "ok" }) },
      sendResult,
      { registries: connected },
    );

    await runtime.run(scriptedRequest([], { action: { image: "other.example/power-off" } }).request, never);

    expect(engine.requests).toContain("POST /images/create?fromImage=other.example%2Fpower-off&tag=latest");
    expect(engine.registryAuth).toBeUndefined();
  });

  it.each([
    ["pull access denied for acme/power-off", "auth"],
    ['Get "http://registry.example/v2/": no basic auth credentials', "auth"],
    ['Head "https://registry.example/v2/a/manifests/v1": unauthorized: authentication required', "auth"],
    ["unable to retrieve auth token: invalid username/password: unauthorized", "auth"],
    ["unexpected status code [manifests v1]: 401 Unauthorized", "auth"],
    ["error parsing HTTP 403 response body: invalid character '<'", "auth"],
    ["failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized", "auth"],
    ["toomanyrequests: You have reached your unauthenticated pull rate limit", "busy"],
    ["manifest for acme/power-off:v1 not found: manifest unknown", "usage"],
    ["dial tcp: lookup registry.example: no such host", "unreachable"],
  ])("fails with the registry's error in the middle of a stream: %s", async (error, errorClass) => {
    const { runtime } = await start({
      "GET /images/*/json": missing,
      "POST /images/create": pulls(
        { status: "Pulling from acme" },
        { error, errorDetail: { message: error } },
      ),
    });

    const { outcome } = await runtime.run(scriptedRequest([], { action }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: errorClass });
    expect(outcome.message).toBe(`the image ${action.image} could not be pulled: ${error}`);
  });

  it.each([
    ["power-of", "manifest unknown", "did you mean power-off?"],
    ["power-of", "pull access denied, repository does not exist", "did you mean power-off?"],
    ["power-of", "dial tcp: lookup registry.example: no such host", undefined],
    ["power-off", "manifest unknown", undefined],
    ["unrelated", "manifest unknown", undefined],
  ])("suggests an action for the image %s if the registry lacks it: %s", async (name, error, meant) => {
    const { runtime } = await start(
      {
        "GET /images/*/json": missing,
        "POST /images/create": pulls({ error, errorDetail: { message: error } }),
      },
      sendResult,
      { actionNames: ["power-off", "power-on"] },
    );
    const misspelt = { image: `registry.example/pbnj-worker/${name}:v1` };

    const { outcome } = await runtime.run(scriptedRequest([], { action: misspelt }).request, never);

    const text = `the image ${misspelt.image} could not be pulled: ${error}`;
    expect(outcome.message).toBe(meant === undefined ? text : `${text}, ${meant}`);
  });

  it("shares a pull between all that wait for it, also when one of them aborts", async () => {
    const begun = Promise.withResolvers<() => void>();
    const { engine, runtime } = await start({
      "GET /images/*/json": inTurn(missing, missing, missing, image),
      "POST /images/create": (response) => begun.resolve(() => void response.end("{}\n")),
    });
    const impatient = new AbortController();
    const runs = [impatient.signal, never, never].map((signal) =>
      runtime.run(scriptedRequest([], { action }).request, signal),
    );
    const finish = await begun.promise;
    await expect.poll(() => engine.requests.filter((line) => line.startsWith("GET /images")).length).toBe(3);

    impatient.abort();
    finish();
    const outcomes = (await Promise.all(runs)).map(({ outcome }) => outcome.class ?? "ok");

    expect(outcomes).toEqual(["cancelled", "ok", "ok"]);
    expect(engine.requests.filter((line) => line.startsWith("POST /images/create"))).toHaveLength(1);
  });

  it("times out a pull that never ends", async () => {
    const { runtime } = await start(
      { "GET /images/*/json": missing, "POST /images/create": silence },
      sendResult,
      { pullTimeoutMs: 200 },
    );

    const { outcome } = await runtime.run(scriptedRequest([], { action }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "unreachable" });
    expect(outcome.message).toBe(`the image ${action.image} was not pulled within 200 ms`);
  });

  it("pulls nothing with the policy `never`", async () => {
    const { engine, runtime } = await start({ "GET /images/*/json": missing }, sendResult, {
      pullPolicy: "never",
    });

    const { outcome } = await runtime.run(scriptedRequest([], { action }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(engine.requests.some((line) => line.startsWith("POST"))).toBe(false);
  });

  it.each([
    ["never", "always", 0],
    ["if-missing", "always", 0],
    ["always", "never", 1],
    [undefined, "always", 1],
  ] as const)(
    "pulls as the policy says (%s), whatever the setting says (%s)",
    async (pull, pullPolicy, pulls) => {
      const { engine, runtime } = await start(
        { "POST /images/create": (response) => response.end("{}\n") },
        sendResult,
        { pullPolicy },
      );
      const terms = pull === undefined ? {} : { pull };

      const { outcome } = await runtime.run({ ...scriptedRequest([], { action }).request, terms }, never);

      expect(outcome).toMatchObject({ ok: true });
      expect(engine.requests.filter((line) => line.startsWith("POST /images/create"))).toHaveLength(pulls);
    },
  );

  it("rejects an invalid image reference without a request to the engine", async () => {
    const { engine, runtime } = await start({});

    const { outcome } = await runtime.run(scriptedRequest([], { action: { image: "../x" } }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(engine.requests).toEqual([]);
  });
});
