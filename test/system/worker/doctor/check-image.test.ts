import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { actionLibrary } from "../../../../cli/action-library.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { checkImage } from "../../../../worker/doctor/check-image.ts";
import { DOCTOR_AGENT_ID } from "../../../../worker/doctor/check-server.ts";
import { composeRuntime } from "../../../../worker/main/compose-runtime.ts";
import { loadConfig } from "../../../../worker/main/load-config.ts";
import { EVERY_IMAGE, Policy } from "../../../../worker/policy/policy.ts";
import { LABEL } from "../../../../worker/runtimes/docker/container-spec.ts";
import { eventually } from "../../../actions/lab.ts";
import { PROGRAM } from "../../../cli/program.ts";
import { buildActionImages } from "../../../support/action-images.ts";
import { describeWithDocker, dockerCli, testBaseImage } from "../../../support/docker.ts";
import { openFolder } from "../../../support/folder.ts";
import {
  empty,
  FakeEngine,
  json,
  type Routes,
  silence,
} from "../../../worker/runtimes/docker/fake-engine.ts";

const never = new AbortController().signal;
const own = { file: PROGRAM, actions: actionLibrary.names(), library: actionLibrary };
const IMAGE = "registry.example/acme/power-on:1";
const REGISTRY = "localhost/pbnj-worker-doctor-test";

interface Trial {
  readonly flags?: Readonly<Record<string, string>>;
  readonly policy?: object;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Tries an image as the doctor does with these settings. */
async function check(
  image: string | undefined,
  { flags = {}, policy: rules = {}, timeoutMs = 60_000, signal = never }: Trial,
) {
  const loaded = loadConfig({ flags: { ...flags, unsafeAnyImage: true }, env: {} }, "run");
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const config = {
    ...loaded.config,
    policy: Policy.parse({ trustedImages: EVERY_IMAGE, ...rules }),
    stopGraceMs: 0,
  };
  const runtime = await composeRuntime(config, { log: silentLogger, own, policy: () => config.policy });
  try {
    const { runtime: kind, trust, policy } = config;
    const trial = {
      image,
      config: kind,
      policy,
      runtime,
      own,
      unsafeAnyImage: trust.unsafeAnyImage,
      timeoutMs,
    };
    return await checkImage(trial, signal);
  } finally {
    await runtime.close();
  }
}

describe("without containers", () => {
  it("an action of this installation is run as a process", async () => {
    const found = await check(undefined, { flags: { runtime: "process" } });

    expect(found).toMatchObject([
      { state: "ok", subject: "check", detail: expect.stringMatching(/^ran with --help in /) },
    ]);
  });

  it("an image selects the action of its name", async () => {
    const [known, unknown, inProcess] = await Promise.all([
      check(IMAGE, { flags: { runtime: "process" } }),
      check("registry.example/acme/nonsense:1", { flags: { runtime: "process" } }),
      check("registry.example/acme/nonsense:1", { flags: { runtime: "in-process" } }),
    ]);

    expect(known).toMatchObject([{ state: "ok", subject: IMAGE }]);
    expect(unknown).toMatchObject([{ cause: "image-name-wrong", class: "usage" }]);
    expect(inProcess).toMatchObject([{ cause: "image-name-wrong" }]);
  });

  it("an action that fails is a problem, with its last output", async () => {
    await using place = await openFolder();
    const { folder } = place;
    const program = 'process.stderr.write("no such library\\n"); process.exit(4);';
    await writeFile(join(folder, "main.ts"), program);
    const actions = join(folder, "broken");
    await mkdir(actions);
    await writeFile(join(actions, "action.ts"), "");

    const found = await check("broken", { flags: { runtime: "process", actionsDirectory: folder } });

    expect(found).toMatchObject([{ cause: "container-failed", detail: "exited 4: no such library" }]);
  });
});

describe("an image that is not run", () => {
  it("is chosen by the doctor if none is named", async () => {
    const found = await check(undefined, { flags: { runtime: "docker" } });

    expect(found).toMatchObject([{ state: "skipped", detail: expect.stringContaining("--image") }]);
  });

  it("is one that the policy does not allow, and nothing is asked of the engine", async () => {
    await using engine = await engineWith({});

    const found = await check(IMAGE, {
      flags: engine.flags,
      policy: { images: ["registry.example/other/*"] },
    });

    expect(found).toMatchObject([
      { cause: "image-refused", detail: `policy images: ${IMAGE} is not allowed`, class: "usage" },
    ]);
    expect(engine.requests).toEqual([]);
  });

  it("is none", async () => {
    await using engine = await engineWith({});

    const found = await check("Not An Image", { flags: engine.flags });

    expect(found).toMatchObject([{ cause: "image-name-wrong" }]);
  });
});

const absent = json(404, { message: "No such image" });
const present = json(200, { Id: "sha256:1", Config: { User: "" } });
const pulled =
  (...lines: readonly object[]): Routes[string] =>
  (response) => {
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };

/** An engine with its flags, which stops by itself. */
async function engineWith(routes: Routes) {
  const engine = await FakeEngine.start(routes);
  return Object.assign(engine, {
    flags: { runtime: "docker", dockerSocket: engine.socketPath },
    [Symbol.asyncDispose]: () => engine.stop(),
  });
}

describe("a pull that fails", () => {
  it.each<[string, Routes[string], string, string]>([
    [
      "a registry that wants a login",
      json(500, { message: "Head https://registry.example/v2/: unauthorized: authentication required" }),
      "registry-refuses",
      "auth",
    ],
    [
      "a registry that denies",
      pulled({ status: "Pulling" }, { error: "denied: requested access to the resource is denied" }),
      "registry-refuses",
      "auth",
    ],
    ["a registry without it", json(404, { message: "manifest unknown" }), "image-not-found", "usage"],
    [
      "a registry that is away",
      json(500, { message: "dial tcp: lookup registry.example: no such host" }),
      "registry-unreachable",
      "unreachable",
    ],
    [
      "a registry that is not trusted",
      json(500, { message: "x509: certificate signed by unknown authority" }),
      "registry-unreachable",
      "unreachable",
    ],
  ])("is reported with its cause: %s", async (_, pull, cause, errorClass) => {
    await using engine = await engineWith({ "GET /images/*/json": absent, "POST /images/create": pull });

    const found = await check(IMAGE, { flags: engine.flags });

    expect(found).toMatchObject([{ state: "problem", subject: IMAGE, cause, class: errorClass }]);
    expect(engine.requests.filter((request) => request.includes("/containers"))).toEqual([]);
  });

  it("is not tried where nothing is to be pulled", async () => {
    await using engine = await engineWith({ "GET /images/*/json": absent });

    const found = await check(IMAGE, { flags: { ...engine.flags, pullPolicy: "never" } });

    expect(found).toMatchObject([{ cause: "image-absent", class: "usage" }]);
    expect(engine.requests.filter((request) => request.includes("/images/create"))).toEqual([]);
  });

  it("ends after the time", async () => {
    await using engine = await engineWith({ "GET /images/*/json": absent, "POST /images/create": silence });

    const found = await check(IMAGE, { flags: engine.flags, timeoutMs: 300 });

    expect(found).toMatchObject([{ cause: "image-timeout", class: "timeout" }]);
  });

  it("is a warning where an older image is there, which is then run", async () => {
    await using engine = await engineWith({
      "GET /images/*/json": present,
      "POST /images/create": json(500, { message: "dial tcp: no such host" }),
      "POST /containers/create": json(400, { message: "network lan-7 not found" }),
      "GET /containers/*/json": json(404, { message: "No such container" }),
    });

    const found = await check(IMAGE, { flags: { ...engine.flags, pullPolicy: "always" } });

    expect(found).toMatchObject([
      { state: "warning", cause: "pull-failed" },
      {
        state: "problem",
        cause: "container-refused",
        detail: expect.stringContaining("network lan-7 not found"),
      },
    ]);
  });
});

it("an image that the policy lets run privileged is tried without privilege", async () => {
  const pinned = `registry.example/acme/tool@sha256:${"a".repeat(64)}`;
  const created: unknown[] = [];
  await using engine = await engineWith({
    "GET /images/*/json": present,
    "POST /containers/create": (response, _, body) => {
      created.push(JSON.parse(body));
      response.writeHead(500).end();
    },
    "GET /containers/*/json": json(404, { message: "No such container" }),
  });

  await check(pinned, { flags: engine.flags, policy: { privileged: [pinned] } });

  expect(created).toMatchObject([
    {
      Image: pinned,
      Cmd: ["--help"],
      User: "65532:65532",
      HostConfig: { Privileged: false, CapDrop: ["ALL"], ReadonlyRootfs: true, PidsLimit: 64 },
    },
  ]);
});

it("a container that cannot be removed is named", async () => {
  await using engine = await engineWith({
    "GET /images/*/json": present,
    "POST /containers/create": json(201, { Id: "c0ffee" }),
    "POST /containers/*/start": empty(204),
    "POST /containers/*/wait": json(200, { StatusCode: 0 }),
    "GET /containers/*/logs": empty(200),
    "GET /containers/*/json": json(200, {
      Id: "c0ffee",
      State: {
        Status: "exited",
        ExitCode: 0,
        StartedAt: "2026-01-01T10:00:00Z",
        FinishedAt: "2026-01-01T10:00:01Z",
      },
      Config: { Labels: {} },
    }),
    "DELETE /containers/*": json(500, { message: "device is busy" }),
  });

  const found = await check(IMAGE, { flags: engine.flags });

  expect(found).toMatchObject([
    { state: "ok" },
    { cause: "container-left", remedy: expect.stringMatching(/docker rm --force pbnj-doctor-[0-9a-f]{16};/) },
  ]);
});

describeWithDocker("with a real engine", () => {
  const image = (name: string) => `${REGISTRY}/${name}:test`;

  /** An image that begins with this. */
  async function build(name: string, ...entrypoint: readonly string[]): Promise<void> {
    await using place = await openFolder();
    const { folder: context } = place;
    const dockerfile = `FROM ${testBaseImage}\nENTRYPOINT ${JSON.stringify(entrypoint)}\n`;
    await writeFile(join(context, "Dockerfile"), dockerfile);
    await dockerCli("build", "--tag", image(name), context);
  }
  const buildScript = (name: string, script: string) => build(name, "node", "-e", script, "--");

  const left = () =>
    dockerCli("ps", "--all", "--quiet", "--filter", `label=${LABEL.agent}=${DOCTOR_AGENT_ID}`);

  beforeAll(async () => {
    await buildActionImages(REGISTRY, ["power-status"]);
    await build("hollow", "/no/such/program");
    await buildScript("failing", 'console.error("cannot open /etc/shadow"); process.exit(3)');
    await buildScript("hanging", "setInterval(() => {}, 1000)");
    await buildScript("greedy", "const held = []; for (;;) held.push(Buffer.alloc(1 << 20, 1))");
    await buildScript(
      "unprivileged",
      'require("node:fs").writeFileSync("/tmp/x", ""); try { require("node:fs").writeFileSync("/x", ""); } ' +
        "catch { process.exit(process.getuid() === 65532 ? 0 : 8); } process.exit(9);",
    );
  });
  afterEach(async () => {
    expect(await left()).toBe("");
  });

  const flags = { runtime: "docker", pullPolicy: "never" };

  it("an action runs and is removed", async () => {
    const found = await check(image("power-status"), { flags });

    expect(found).toMatchObject([
      {
        state: "ok",
        subject: image("power-status"),
        detail: expect.stringMatching(/^there already, ran with --help in /),
      },
    ]);
  });

  it("a program has no more rights than an action's", async () => {
    const found = await check(image("unprivileged"), { flags });

    expect(found).toMatchObject([{ state: "ok" }]);
  });

  it("a program that fails is a problem, with its last output", async () => {
    const found = await check(image("failing"), { flags });

    expect(found).toMatchObject([
      { state: "problem", cause: "container-failed", detail: "exited 3: cannot open /etc/shadow" },
    ]);
  });

  it("a program that does not end is stopped after the time", async () => {
    const found = await check(image("hanging"), { flags, timeoutMs: 3_000 });

    expect(found).toMatchObject([{ cause: "image-timeout", class: "timeout" }]);
  });

  it("a program that takes too much memory is reported as such", async () => {
    const found = await check(image("greedy"), { flags: { ...flags, memoryLimit: "64Mi" } });

    expect(found).toMatchObject([{ cause: "container-out-of-memory" }]);
  });

  it("a trial that is cut short rejects and leaves no container", async () => {
    const stop = new AbortController();

    const trying = check(image("hanging"), { flags, signal: stop.signal });
    trying.catch(() => undefined);
    let running = "";
    const looking = setInterval(async () => {
      running = await left().catch(() => "");
    }, 100);
    await eventually(() => running !== "").finally(() => clearInterval(looking));
    stop.abort(new Error("stopped by SIGINT"));

    await expect(trying).rejects.toThrow("stopped by SIGINT");
  });
});
