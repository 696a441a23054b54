import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Connection } from "../../../../shared/contract/connection.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import type { Action, LogLine } from "../../../../worker/core/action/action.ts";
import { LaunchNotRecorded } from "../../../../worker/core/ports/runtime.ts";
import type { ActionLibrary, InProcessRequest } from "../../../../worker/runtimes/action-library.ts";
import {
  InProcessRuntime,
  type InProcessRuntimeOptions,
} from "../../../../worker/runtimes/in-process/in-process-runtime.ts";
import { redfishConnection } from "../../../support/bmc-lab.ts";
import { quickLibrary } from "../../../support/quick-actions.ts";
import { scriptedRequest } from "../launch-request.ts";

const never = new AbortController().signal;
const CANARY = "canary-77ab";

function newRuntime(options: Partial<InProcessRuntimeOptions> = {}): InProcessRuntime {
  return new InProcessRuntime({
    actions: quickLibrary,
    refuse: async () => undefined,
    log: silentLogger,
    stopGraceMs: 3_000,
    ...options,
  });
}

async function startMachine(machineOptions: SimulatedMachineOptions, bmcOptions: RedfishBmcOptions = {}) {
  const machine = new SimulatedMachine(machineOptions);
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http", password: CANARY, ...bmcOptions });
  return { machine, bmc, [Symbol.asyncDispose]: () => bmc.close() };
}

/** A request to run an action of the project at a BMC, and the lines it logs. */
function requestFor(
  image: string,
  port: number,
  options: {
    readonly machine?: string;
    readonly password?: string;
    readonly redfish?: Readonly<Record<string, unknown>>;
    readonly timeoutMs?: number;
    readonly action?: Partial<Action>;
  } = {},
) {
  const { machine = "m1", password = CANARY, redfish = {}, timeoutMs = 60_000, action = {} } = options;
  const made = scriptedRequest([], { timeoutMs, action: { image: `localhost/${image}:v1`, ...action } });
  const connection = Connection.parse(
    redfishConnection(port, {
      ...{ machine, password, redfish: { port, scheme: "http", ...redfish } },
      // Many actions and their BMCs share one thread.
      ...{ connectTimeoutMs: 30_000, requestTimeoutMs: 30_000 },
    }),
  );
  return { lines: made.lines, request: { ...made.request, connection } };
}

describe("the in-process runtime keeps the runtime contract", () => {
  const runtime = newRuntime();
  afterAll(() => runtime.close());

  it("passes the connection, and returns the action's own result, exit code and log", async () => {
    await using lab = await startMachine({ power: "on" });
    const { request, lines } = requestFor("power-off", lab.bmc.port, {
      action: { environment: { MODE: "hard", LOG_LEVEL: "debug" } },
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({
      ok: true,
      exitCode: 0,
      killed: false,
      timedOut: false,
      result: { action: "power-off", machine: "m1", before: "on", after: "off" },
    });
    expect(outcome.message).toMatch(/^off after .* via redfish$/);
    expect(lab.machine.count("off")).toBe(1);
    expect(lines.length).toBeGreaterThan(0);
    for (const { stream, line } of lines) {
      expect(stream).toBe("stderr");
      expect(JSON.parse(line)).toMatchObject({ action: "power-off", machine: "m1" });
    }
  });

  it("returns the action's own reason and class when it failed", async () => {
    await using lab = await startMachine({});
    const { request } = requestFor("power-on", lab.bmc.port, { password: "wrong" });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: false, class: "auth", exitCode: 10, killed: false });
    expect(JSON.stringify(outcome)).not.toContain("wrong");
  });

  it.each([
    ["an input that is none", { environment: { MODE: "gently" } }, /MODE "gently" is not one of/],
    ["a variable that is none", { environment: { BMC_HOTS: "x" } }, /BMC_HOTS/],
    ["a flag that is none", { command: ["--mod", "hard"] }, /--mod/],
    ["a call for help", { command: ["--help"] }, /--help/],
  ])("does nothing with %s", async (_, action, message) => {
    await using lab = await startMachine({ power: "on" });

    const { outcome } = await runtime.run(requestFor("power-off", lab.bmc.port, { action }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage", exitCode: 2 });
    expect(outcome.message).toMatch(message);
    expect(lab.bmc.log).toEqual([]);
  });

  it("accepts flags as a program does", async () => {
    await using lab = await startMachine({ power: "on" });
    const action = { command: ["--mode", "hard"] };

    const { outcome } = await runtime.run(requestFor("power-off", lab.bmc.port, { action }).request, never);

    expect(outcome.message).toMatch(/\(forced\)/);
  });

  it("stops an action at its timeout and closes its session", async () => {
    await using lab = await startMachine({ power: "on", softOffMs: "never" });
    const { request } = requestFor("power-off", lab.bmc.port, {
      redfish: { auth: "session" },
      timeoutMs: 1_500,
      action: { environment: { MODE: "soft" } },
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({
      ok: false,
      class: "timeout",
      timedOut: true,
      killed: true,
      exitCode: 143,
    });
    expect(outcome.message).toMatch(/^timed out after 1\.5 s: cancelled by SIGTERM/);
    expect(lab.machine.count("off")).toBe(0);
    expect(lab.bmc.log.filter((line) => line.startsWith("DELETE "))).toHaveLength(1);
  });

  it("stops an action when the worker cancels it, and closes its session", async () => {
    await using lab = await startMachine({ power: "on", softOffMs: "never" });
    const controller = new AbortController();
    const { request } = requestFor("power-off", lab.bmc.port, {
      redfish: { auth: "session" },
      action: { environment: { MODE: "soft" } },
    });
    lab.machine.once("command", () => controller.abort());

    const { outcome } = await runtime.run(request, controller.signal);

    expect(outcome).toMatchObject({ ok: false, class: "cancelled", timedOut: false, killed: true });
    expect(lab.machine.count("off")).toBe(0);
    expect(lab.bmc.log.filter((line) => line.startsWith("DELETE "))).toHaveLength(1);
  });

  it("starts nothing once it is cancelled", async () => {
    await using lab = await startMachine({});

    const { outcome } = await runtime.run(requestFor("power-off", lab.bmc.port).request, AbortSignal.abort());

    expect(outcome).toMatchObject({ ok: false, class: "cancelled" });
    expect(outcome.exitCode).toBeUndefined();
    expect(lab.bmc.log).toEqual([]);
  });

  it("shows an action nothing of the worker's environment", async () => {
    await using lab = await startMachine({ power: "on" });
    const own = { DRY_RUN: "true", BMC_HOST: "192.0.2.1", MODE: "gently", BMC_PASSWORD: CANARY };
    Object.assign(process.env, own);
    try {
      const { request } = requestFor("power-off", lab.bmc.port, {
        action: { environment: { MODE: "hard" } },
      });

      const { outcome } = await runtime.run(request, never);

      expect(outcome).toMatchObject({ ok: true });
      expect(lab.machine.count("off")).toBe(1);
    } finally {
      for (const name of Object.keys(own)) delete process.env[name];
    }
  });

  it("writes the result to the file that the template names, as a program does", async () => {
    await using lab = await startMachine({ power: "on" });
    const folder = await mkdtemp(join(tmpdir(), "pbnj-in-process-"));
    const file = join(folder, "result.json");
    const action = { environment: { RESULT_FILE: file } };

    const { outcome } = await runtime.run(
      requestFor("power-status", lab.bmc.port, { action }).request,
      never,
    );
    const written = await readFile(file, "utf8");
    await rm(folder, { recursive: true });

    expect(JSON.parse(written)).toEqual(outcome.result);
    expect(outcome).toMatchObject({ ok: true });
  });

  it.each([
    ["registry.example/tinkerbell/actions/image2disk:latest", "`pbnj-worker actions` lists them"],
    ["registry.example/pbnj-worker/power-onn:v1", "did you mean power-on?"],
    ["set_boot_device", "did you mean set-boot-device?"],
  ])("names the unknown image %s, and says %s", async (image, advice) => {
    const { outcome } = await runtime.run(scriptedRequest([], { action: { image } }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toBe(`the in-process runtime has no action for the image ${image}: ${advice}`);
  });

  it("runs nothing that is refused", async () => {
    const refusing = newRuntime({ refuse: async () => ({ class: "unsupported", reason: "no volumes" }) });
    await using lab = await startMachine({});

    const { outcome } = await refusing.run(requestFor("power-off", lab.bmc.port).request, never);
    await refusing.close();

    expect(outcome).toMatchObject({ ok: false, class: "unsupported", message: "no volumes" });
    expect(lab.bmc.log).toEqual([]);
  });

  it("runs nothing if the journal entry cannot be written", async () => {
    await using lab = await startMachine({});
    const { request } = requestFor("power-off", lab.bmc.port);
    const onLaunch = () => Promise.reject(new LaunchNotRecorded(new Error("ENOSPC")));

    const running = runtime.run({ ...request, onLaunch }, never);

    await expect(running).rejects.toThrow(LaunchNotRecorded);
    expect(lab.bmc.log).toEqual([]);
  });

  it("reports an earlier worker's action as lost, or as never launched", async () => {
    const { request } = scriptedRequest([], { action: { image: "localhost/power-cycle:v1" } });
    const left = {
      action: request.action,
      connected: true,
      startedAt: new Date(),
      clockSetMs: 0,
      timeoutMs: 1_000,
      onLog: () => undefined,
    };

    const adoptions = [
      await runtime.adopt({ ...left, handle: {} }),
      await runtime.adopt({ ...left, damaged: true }),
      await runtime.adopt(left),
    ];

    const lost = { kind: "lost", reason: expect.stringContaining("restarted"), idempotent: false };
    expect(adoptions).toEqual([lost, lost, { kind: "not-launched" }]);
  });
});

it("forty concurrent actions never mix machines, logs or secrets", async () => {
  const runtime = newRuntime();
  const labs = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const power = index % 2 === 0 ? "on" : "off";
      const password = `${CANARY}-${String(index).padStart(3, "0")}`;
      return { name: `node-${index}`, password, power, ...(await startMachine({ power }, { password })) };
    }),
  );
  const environment = { LOG_LEVEL: "debug" };

  const runs = await Promise.all(
    labs.map(async ({ name, password, bmc }, index) => {
      const image = index % 3 === 0 ? "set-pxe-once" : "power-status";
      const options = { machine: name, password, action: { environment } };
      const { request, lines } = requestFor(image, bmc.port, options);
      return { image, lines, outcome: (await runtime.run(request, never)).outcome };
    }),
  );
  await runtime.close();
  await Promise.all(labs.map(({ bmc }) => bmc.close()));

  for (const [index, { image, lines, outcome }] of runs.entries()) {
    const { name, power, machine } = labs[index] ?? {};
    expect(outcome).toMatchObject({ ok: true, result: { machine: name, action: image } });
    if (image === "power-status") expect(outcome.message).toBe(`${power} via redfish`);
    else expect(machine?.override).toMatchObject({ device: "pxe", enabled: "once" });
    expect(lines.length).toBeGreaterThan(0);
    for (const { line } of lines) expect(JSON.parse(line)).toMatchObject({ machine: name, action: image });
  }
  expect(JSON.stringify(runs)).not.toContain(CANARY);
});

describe("an action that does not behave", () => {
  /** One action named `odd`, which does what the test says. */
  function oddRuntime(run: (request: InProcessRequest) => Promise<void>, stopGraceMs = 50) {
    const result = { action: "odd", ok: true, message: "done", durationMs: 0, roundTrips: 0 };
    const actions: ActionLibrary = {
      names: () => ["odd"],
      inputNames: () => [],
      idempotentNames: () => [],
      find: async () => ({
        idempotent: true,
        problems: async () => [],
        run: async (request) => run(request).then(() => ({ exitCode: 0, result })),
      }),
    };
    return newRuntime({ actions, stopGraceMs });
  }
  const odd = (machine: string, timeoutMs = 60_000) => requestFor("odd", 1, { machine, timeoutMs }).request;

  it("and does not stop is reported, and its BMC stays locked until it does", async () => {
    const end = Promise.withResolvers<void>();
    const begun: string[] = [];
    const runtime = oddRuntime(async ({ stdin }) => {
      const { machine } = JSON.parse(stdin);
      begun.push(machine);
      if (machine === "stuck" && begun.length === 1) await end.promise;
    });

    const stuck = await runtime.run(odd("stuck", 50), never);
    const same = await runtime.run(odd("stuck"), never);
    const other = await runtime.run(odd("other"), never);
    end.resolve();
    await expect.poll(async () => (await runtime.run(odd("stuck"), never)).outcome.ok).toBe(true);
    await runtime.close();

    expect(stuck.outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true });
    expect(stuck.outcome.message).toMatch(/it did not stop when asked to/);
    expect(same.outcome).toMatchObject({ ok: false, class: "busy" });
    expect(same.outcome.message).toMatch(/did not stop when asked to, and may still be running there/);
    expect(other.outcome).toMatchObject({ ok: true });
    expect(begun).toEqual(["stuck", "other", "stuck"]);
  });

  it("and does not stop does not delay the worker's exit", async () => {
    const runtime = oddRuntime(() => new Promise(() => undefined));
    const running = runtime.run(odd("stuck"), never);

    await runtime.close();

    expect((await running).outcome).toMatchObject({ ok: false, class: "cancelled" });
  });

  it("and throws fails alone", async () => {
    const runtime = oddRuntime(() => Promise.reject(new Error("broken")));

    const { outcome } = await runtime.run(odd("m1"), never);
    await runtime.close();

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toBe("could not run the action: broken");
  });

  it("and writes an endless line has it cut", async () => {
    const runtime = oddRuntime(async ({ onLog }) => onLog({ stream: "stderr", line: "x".repeat(100_000) }));
    const lines: LogLine[] = [];

    await runtime.run({ ...odd("m1"), onLog: (line) => lines.push(line) }, never);
    await runtime.close();

    expect(lines).toHaveLength(1);
    expect(lines[0]?.line.length).toBeLessThan(20_000);
  });
});
