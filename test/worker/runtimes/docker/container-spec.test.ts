import { describe, expect, it } from "vitest";
import type { LaunchTerms } from "../../../../worker/core/ports/runtime.ts";
import {
  containerSpec,
  isContainerOf,
  mountProblem,
} from "../../../../worker/runtimes/docker/container-spec.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { canary, scriptedRequest } from "../launch-request.ts";

const options = { worker: "w" };

describe("the container of an action", () => {
  it.each([
    ...[undefined, "", "root", "0", "0:0", "root:wheel", "+0", "00", "+1000", " 0", "-1", "0x0", "1000:0"],
    ...[
      "1000:root",
      "app",
      "app:app",
      "app:0",
      "0:1000",
      "99999999999",
      "4294967296",
      "1000:4294967296",
      ":1",
    ],
  ])("runs as non-root when the image's user is %j", (User) => {
    expect(containerSpec(scriptedRequest([]).request, { User }, options).User).toBe("65532:65532");
  });

  it.each([
    ["65532", "65532:65532"],
    ["1000:2000", "1000:2000"],
    ["007", "7:7"],
  ])("keeps the image's own user %s, with a group", (User, expected) => {
    expect(containerSpec(scriptedRequest([]).request, { User }, options).User).toBe(expected);
  });

  it("gives the user of the settings a group", () => {
    expect(
      containerSpec(scriptedRequest([]).request, { User: "app" }, { ...options, user: "999" }).User,
    ).toBe("999:999");
  });

  it("has the volumes of its image in memory, except where the action mounts its own", () => {
    const image = { Volumes: { "/var/cache/": {}, "/data": {}, "/tmp": {} } };
    const request = scriptedRequest([], { action: { volumes: ["/srv:/data:ro"] } }).request;

    const { Mounts } = containerSpec(request, image, { ...options, tmpBytes: 1_000 }).HostConfig;

    expect(Mounts).toEqual([
      { Type: "bind", Source: "/srv", Target: "/data", ReadOnly: true },
      { Type: "tmpfs", Target: "/var/cache", TmpfsOptions: { SizeBytes: 1_000, Mode: 0o1777 } },
    ]);
  });

  it.each([
    ["/d:/opt/tool", { Entrypoint: ["node", "/opt/tool/main.mjs"] }],
    ["/d:/opt/tool/main.mjs:ro", { Entrypoint: ["node", "/opt/tool/main.mjs"] }],
    ["/d:/opt/tool/node_modules", { Entrypoint: ["/opt/tool/run"] }],
    ["/d:/opt/", { Cmd: ["/opt/tool/run"] }],
    ["/d:/srv/app/lib", { Entrypoint: ["node", "main.mjs"], WorkingDir: "/srv/app" }],
    ["/d:/data/x", { Entrypoint: ["sh", "-c", "exec '/data/x/run' --fast"] }],
    ["/d:/data/x", { Entrypoint: ["node", "--import=/data/x/first.mjs", "/main.mjs"] }],
    ["/d:/data/x", { Entrypoint: ["ruby", "-I/data/x/lib", "-e", "main"] }],
    ["/d:/data/x", { Entrypoint: ["tool"], Env: ["LANG=C", "PATH=/usr/bin:/data/x/bin"] }],
    ["/d:/data/x/", { Env: ["NODE_OPTIONS=--max-old-space-size=64 --require /data/x/first.js"] }],
    ["/d:/data/x", { Env: ["LD_PRELOAD=/data/x/lib.so"] }],
    ["/d:/data/x", { Env: ["PYTHONHOME=/data/x"] }],
  ])("refuses the volume %s over the program of its image", (volume, image) => {
    expect(mountProblem([volume], image)).toMatch(/cannot be mounted: the image has its program in/);
    expect(mountProblem(["/d:/data/y"], image)).toBeUndefined();
  });

  it("refuses a volume over the home of the image, or a hidden folder of it", () => {
    const image = { Env: ["HOME=/data/home"] };

    for (const target of ["/data", "/data/home/", "/data/home/.local"]) {
      expect(mountProblem([`/d:${target}`], image)).toBe(
        `/d:${target} cannot be mounted: the image has its home in /data/home`,
      );
    }
    expect(mountProblem(["/d:/data/home/out"], image)).toBeUndefined();
    expect(mountProblem(["/d:/data"], { Env: ["HOME="] })).toBeUndefined();
  });

  it("refuses a volume around one of the image, whose place may be a link there", () => {
    const image = { Volumes: { "/data/cache/": {} }, Env: ["OUTPUT=/data"] };

    expect(mountProblem(["/d:/data"], image)).toBe(
      "/d:/data cannot be mounted: the image has a volume of its own in /data/cache",
    );
    expect(mountProblem(["/d:/data/cache"], image)).toBeUndefined();
  });

  it("has no privileges, whatever the action requests", () => {
    const { HostConfig } = containerSpec(scriptedRequest([]).request, undefined, options);

    expect(HostConfig).toMatchObject({
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: true,
      AutoRemove: false,
      RestartPolicy: { Name: "no" },
      MemorySwap: HostConfig.Memory,
    });
  });

  it("contains no secret and makes the action read its stdin, which a template cannot change", () => {
    const action = { environment: { BMC_CONNECTION_FILE: "/etc/passwd", MODE: "soft" } };

    const spec = containerSpec(scriptedRequest([], { connected: true, action }).request, undefined, options);

    expect(spec.Env).toEqual(["BMC_CONNECTION_FILE=-", "MODE=soft"]);
    expect(spec).toMatchObject({ OpenStdin: true, StdinOnce: true });
    expect(JSON.stringify(spec)).not.toContain(canary);
  });

  it("opens no stdin for an action without a connection", () => {
    const spec = containerSpec(scriptedRequest([]).request, undefined, options);

    expect(spec).toMatchObject({ OpenStdin: false, StdinOnce: false, Env: [] });
  });

  it("takes network, PID namespace, volumes and arguments from the action, and the entrypoint from the image", () => {
    const action = {
      networkNamespace: "host",
      pidNamespace: "host",
      volumes: ["/data:/data:ro"],
      command: ["--verbose"],
    };

    const spec = containerSpec(scriptedRequest([], { action }).request, undefined, options);

    expect(spec.HostConfig).toMatchObject({
      NetworkMode: "host",
      PidMode: "host",
      Mounts: [{ Type: "bind", Source: "/data", Target: "/data", ReadOnly: true }],
    });
    expect(spec.Cmd).toEqual(["--verbose"]);
    expect(spec).not.toHaveProperty("Entrypoint");
  });

  it("has a log of bounded size that the engine can read back, whatever its default driver is", () => {
    const { LogConfig } = containerSpec(scriptedRequest([]).request, undefined, options).HostConfig;

    expect(LogConfig).toEqual({ Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } });
  });

  it("has configurable limits", () => {
    const limits = {
      worker: "w",
      memoryBytes: 1_000,
      cpus: 0.5,
      pids: 7,
      network: "bmc",
      user: "7:7",
      init: true,
    };

    const spec = containerSpec(scriptedRequest([]).request, undefined, limits);

    expect(spec.HostConfig).toMatchObject({
      Memory: 1_000,
      NanoCpus: 500_000_000,
      PidsLimit: 7,
      NetworkMode: "bmc",
      Init: true,
    });
    expect(spec.User).toBe("7:7");
  });
});

describe("the terms that the policy sets", () => {
  const limits = { worker: "w", memoryBytes: 1_000, cpus: 0.5, pids: 7 };
  const specOn = (terms: LaunchTerms, User?: string) =>
    containerSpec({ ...scriptedRequest([]).request, terms }, { User }, limits);

  it("override the options, each by itself", () => {
    expect(specOn({ memoryBytes: 2_000, cpus: 0.25, pids: 3 }).HostConfig).toMatchObject({
      Memory: 2_000,
      MemorySwap: 2_000,
      NanoCpus: 250_000_000,
      PidsLimit: 3,
    });
    expect(specOn({ pids: 3 }).HostConfig).toMatchObject({
      Memory: 1_000,
      NanoCpus: 500_000_000,
      PidsLimit: 3,
    });
    expect(specOn({ pull: "never" })).toMatchObject({
      User: "65532:65532",
      HostConfig: { Privileged: false, CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"], PidsLimit: 7 },
    });
  });

  it("alone make a container privileged, with the image's own user and within the limits", () => {
    const spec = specOn({ privileged: true }, "root");

    expect(spec.User).toBeUndefined();
    expect(spec.HostConfig).toMatchObject({
      Privileged: true,
      CapDrop: [],
      SecurityOpt: [],
      ReadonlyRootfs: true,
      Memory: 1_000,
      PidsLimit: 7,
    });
  });
});

describe("the name of a container", () => {
  const { action } = scriptedRequest([]).request;

  it("is the same for the same workflow and action, and another for any other", () => {
    expect(launchName({ ...action })).toBe(launchName(action));
    expect(launchName({ ...action, actionId: "other" })).not.toBe(launchName(action));
    expect(launchName({ ...action, workflowId: "other" })).not.toBe(launchName(action));
  });

  it.each(["Power off!", "", "ä", "-".repeat(300), "a".repeat(300)])(
    "is one an engine takes for %j",
    (name) => {
      const made = launchName({ ...action, name });

      expect(made).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
      expect(made.length).toBeLessThanOrEqual(63);
    },
  );

  it("belongs to an action by workflow, agent and action, on any host name", () => {
    const { Labels } = containerSpec(scriptedRequest([], { action }).request, undefined, options);

    expect(isContainerOf(action, Labels)).toBe(true);
    expect(isContainerOf({ ...action, actionId: "other" }, Labels)).toBe(false);
    expect(isContainerOf({ ...action, agentId: "other" }, Labels)).toBe(false);
    expect(isContainerOf(action, {})).toBe(false);
  });
});
