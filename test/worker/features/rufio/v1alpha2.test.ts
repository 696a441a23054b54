import { describe, expect, it } from "vitest";
import { eventually, isTrue, NEW_BMC_API, type RufioLab, rufioLab } from "./rufio-lab.ts";

const off = { powerAction: "off" };
const on = { powerAction: "on" };
const cycle = { powerAction: "cycle" };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const RUNNING = { type: "Running", status: "True", lastUpdateTime: TIME };
const BEGUN = "2026-01-02T03:04:05Z";
const flags = { rufioApi: "v1alpha2" };

const newLab = () => rufioLab({ cluster: { crds: ["v1alpha2"] } });
const actionsOf = (lab: RufioLab) => lab.machine().commands.map(({ action }) => action);

async function isDone(lab: RufioLab, name: string, type: "Completed" | "Failed") {
  await eventually(() => {
    const other = type === "Completed" ? "Failed" : "Completed";
    expect(isTrue(lab.newJob(name), other), JSON.stringify(lab.newJob(name))).toBe(false);
    expect(isTrue(lab.newJob(name), type)).toBe(true);
  });
}

function messageOf(lab: RufioLab, name: string, type = "Failed"): string | undefined {
  return lab.newJob(name).conditions?.find((condition) => condition["type"] === type)?.["message"];
}

it.concurrent("runs the operations of a Job in order, counts them, and writes conditions and times", async () => {
  await using lab = await newLab();
  lab.addHardware();
  await lab.replica({ flags });

  lab.addNewJob("j1", [
    off,
    { virtualMediaAction: { kind: "CD", mediaURL: "http://192.0.2.9/hook.iso" } },
    { bootDevice: { name: "pxe", efiBoot: true } },
    { ...on, timeoutSeconds: 120 },
  ]);
  await isDone(lab, "j1", "Completed");

  expect(lab.newJob("j1")).toEqual({
    conditions: [
      RUNNING,
      {
        type: "OperationStarted",
        ...{ status: "False", message: "operation 4 (power-on)", lastUpdateTime: TIME },
      },
      { type: "Completed", status: "True", lastUpdateTime: TIME },
    ],
    startTime: TIME,
    completionTime: TIME,
    completedOperations: 4,
  });
  expect(actionsOf(lab)).toEqual(["off", "on"]);
  expect(lab.machine().boots).toMatchObject([{ device: "pxe", mode: "uefi" }]);
  expect(lab.bmc().media.slots.map(({ image }) => image)).toContain("http://192.0.2.9/hook.iso");
  const resources = new Set(lab.cluster.requests.map(({ resource }) => resource));
  expect([...resources].filter((name) => ["tasks", "machines"].includes(name))).toEqual([]);
});

it.concurrent("ends a Job at its first failed operation, and says which one and why", async () => {
  await using lab = await newLab();
  lab.addHardware();
  await lab.replica({ flags });

  lab.addNewJob("j1", [off, { powerAction: "reset" }, on]);
  await isDone(lab, "j1", "Failed");

  expect(messageOf(lab, "j1")).toMatch(
    /^operation 2 \(power-reset\): power-reset node-01 failed \(state, exit 17\): redfish: the machine is off/,
  );
  expect(lab.newJob("j1")).toMatchObject({ completedOperations: 1, startTime: TIME });
  expect(lab.newJob("j1").completionTime).toBeUndefined();
  expect(actionsOf(lab)).toEqual(["off"]);
  await eventually(() => expect(lab.said("Rufio job failed", { job: "default/j1" })).toHaveLength(1));
});

it.concurrent("stops an operation at its time limit, although the BMC is still working", async () => {
  await using lab = await rufioLab({
    machines: { "node-01": { powerOffMs: 600_000 } },
    cluster: { crds: ["v1alpha2"] },
  });
  lab.addHardware();
  await lab.replica({ flags });

  lab.addNewJob("j1", [{ ...off, timeoutSeconds: 3 }, on]);
  await isDone(lab, "j1", "Failed");

  expect(messageOf(lab, "j1")).toMatch(/^operation 1 \(power-off\): .*(timeout|timed out)/);
  expect(actionsOf(lab)).toEqual(["off"]);
});

it.concurrent.each([
  ["names two things", { ...off, bootDevice: { name: "pxe" } }, "names powerAction and bootDevice"],
  ["names nothing", { timeoutSeconds: 5 }, "no action specified in operation, nothing to do"],
  ["names a device that no BMC has", { bootDevice: { name: "tape" } }, "bootDevice.name is tape"],
  ["has a negative limit", { ...off, timeoutSeconds: -1 }, "timeoutSeconds is -1: must not be negative"],
])("fails a Job whose operation %s, with the reason", async (_, operation, reason) => {
  await using lab = await newLab();
  lab.addHardware();
  await lab.replica({ flags });

  lab.addNewJob("j1", [operation]);
  await isDone(lab, "j1", "Failed");

  expect(messageOf(lab, "j1")).toMatch(/^operation 1: /);
  expect(messageOf(lab, "j1")).toContain(reason);
  expect(actionsOf(lab)).toEqual([]);
});

describe.concurrent("the machine of a Job", () => {
  it("is the Hardware with the Job's connection, for which the Job waits", async () => {
    await using lab = await newLab();
    await lab.replica({ flags });
    lab.addNewJob("j1", [off], { connection: lab.newConnection() });
    await eventually(() =>
      expect(messageOf(lab, "j1", "Running")).toBe(
        "no Hardware in default has the connection of this Job: this worker acts on Hardware alone",
      ),
    );

    lab.addHardware();

    await isDone(lab, "j1", "Completed");
    expect(actionsOf(lab)).toEqual(["off"]);
  });

  it("is waited for by its name", async () => {
    await using lab = await newLab();
    await lab.replica({ flags });
    lab.addNewJob("j1", [off]);
    await eventually(() =>
      expect(messageOf(lab, "j1", "Running")).toBe(
        "no Hardware default/node-01 with spec.bmc.connection found",
      ),
    );

    lab.addHardware();

    await isDone(lab, "j1", "Completed");
  });

  it.each([
    [{}, "the Job has neither hardwareRef nor connection: it must have one"],
    [{ hardwareRef: { name: "", namespace: "" } }, "the Job has neither hardwareRef nor connection"],
    [
      { machineRef: { name: "node-01", namespace: "default" } },
      "spec.machineRef is not known to this worker: name the Hardware in hardwareRef",
    ],
    [
      { hardwareRef: { name: "node-01", namespace: "default" }, retries: 2 },
      "spec.retries is not known to this worker",
    ],
    [
      { hardwareRef: { name: "node-01", namespace: "default" }, connection: { host: "h" } },
      "the Job has both",
    ],
    [
      { hardwareRef: { name: "node-01", namespace: "tink-system" } },
      "operation 1 not started: Job default/j1 may not use Hardware tink-system/node-01, which is in another namespace",
    ],
  ])("fails the Job if it has %j", async (target, reason) => {
    await using lab = await newLab();
    lab.addHardware();
    lab.addHardware("node-01", "tink-system");
    await lab.replica({ flags, watchNamespace: "*" });

    lab.addNewJob("j1", [off], target);
    await isDone(lab, "j1", "Failed");

    expect(messageOf(lab, "j1")).toContain(reason);
    expect(actionsOf(lab)).toEqual([]);
  });
});

describe.concurrent("after a restart", () => {
  const status = (completedOperations: number, mark?: object) => ({
    conditions: [
      { type: "Running", status: "True", lastUpdateTime: BEGUN },
      ...(mark ? [{ type: "OperationStarted", lastUpdateTime: BEGUN, ...mark }] : []),
    ],
    startTime: BEGUN,
    ...(completedOperations > 0 && { completedOperations }),
  });

  it("continues after the last completed operation, keeping the start time", async () => {
    await using lab = await newLab();
    lab.addHardware();
    lab.addNewJob("j1", [off, cycle, on]);
    const mark = { status: "False", message: "operation 2 (power-cycle)" };
    lab.cluster.patchStatus(NEW_BMC_API, "Job", "j1", status(2, mark));
    await lab.replica({ flags });

    await isDone(lab, "j1", "Completed");

    expect(actionsOf(lab)).toEqual([]);
    expect(lab.newJob("j1")).toMatchObject({ startTime: BEGUN, completedOperations: 3 });
  });

  it.each([
    [
      "this worker had started, whose end it does not know",
      { status: "True", message: "operation 2 (power-cycle)" },
    ],
    ["another controller may have started", undefined],
    ["another controller may have started meanwhile", { status: "True", message: "operation 1 (power-off)" }],
  ])("does not repeat a cycle that %s", async (_, mark) => {
    await using lab = await newLab();
    lab.addHardware();
    lab.addNewJob("j1", [off, cycle, on]);
    lab.cluster.patchStatus(NEW_BMC_API, "Job", "j1", status(1, mark));
    await lab.replica({ flags });

    await isDone(lab, "j1", "Failed");

    expect(messageOf(lab, "j1")).toMatch(/^operation 2\b.* is not idempotent, so it is not run again$/);
    expect(lab.newJob("j1")).toMatchObject({ completedOperations: 1 });
    expect(actionsOf(lab)).toEqual([]);
  });

  it("runs an idempotent operation that another controller may have started", async () => {
    await using lab = await newLab();
    lab.addHardware();
    lab.addNewJob("j1", [off]);
    lab.cluster.patchStatus(NEW_BMC_API, "Job", "j1", status(0));
    await lab.replica({ flags });

    await isDone(lab, "j1", "Completed");

    expect(actionsOf(lab)).toEqual(["off"]);
  });

  it("does not change a finished Job", async () => {
    await using lab = await newLab();
    lab.addHardware();
    lab.addNewJob("done", [off]);
    lab.addNewJob("failed", [off]);
    const done = { conditions: [{ type: "Completed", status: "True" }] };
    const failed = { conditions: [{ type: "Failed", status: "True" }] };
    lab.cluster.patchStatus(NEW_BMC_API, "Job", "done", done);
    lab.cluster.patchStatus(NEW_BMC_API, "Job", "failed", failed);
    await lab.replica({ flags });

    lab.addNewJob("next", [{ powerAction: "status" }]);
    await isDone(lab, "next", "Completed");

    expect([lab.newJob("done"), lab.newJob("failed")]).toEqual([done, failed]);
    expect(actionsOf(lab)).toEqual([]);
  });
});

it.concurrent("starts an operation once the Secret of its Hardware exists, and says what it waits for", async () => {
  await using lab = await newLab();
  lab.addHardware();
  let missing: string | undefined = "Secret default/node-01-bmc not found";
  await lab.replica({ flags, missingSecret: async () => missing });
  lab.addNewJob("j1", [off]);
  await eventually(() =>
    expect(lab.said("Rufio task waiting for its Secret", { reason: missing })).toHaveLength(1),
  );
  expect(lab.newJob("j1").conditions).toContainEqual(
    expect.objectContaining({
      type: "OperationStarted",
      status: "False",
      message: "operation 1 (power-off)",
    }),
  );

  missing = undefined;

  await isDone(lab, "j1", "Completed");
  expect(actionsOf(lab)).toEqual(["off"]);
});

it.concurrent("cancels the operation of a deleted Job, and starts no further one", async () => {
  await using lab = await rufioLab({
    machines: { "node-01": { powerOffMs: 600_000 } },
    cluster: { crds: ["v1alpha2"] },
  });
  lab.addHardware();
  await lab.replica({ flags });
  lab.addNewJob("j1", [off, on]);
  await eventually(() => expect(actionsOf(lab)).toEqual(["off"]));

  lab.cluster.remove(NEW_BMC_API, "Job", "j1");

  await eventually(() =>
    expect(lab.said("action cancelled").length + lab.said("action failed").length).toBe(1),
  );
  expect(actionsOf(lab)).toEqual(["off"]);
});

it.concurrent("watches nothing of v1alpha2 without the setting", async () => {
  await using lab = await rufioLab({ cluster: { crds: ["v1alpha1", "v1alpha2"] } });
  lab.addMachine();
  lab.addHardware();
  lab.addNewJob("new", [off]);
  await lab.replica();

  lab.addJob("old", [{ powerAction: "status" }]);
  await eventually(() => expect(isTrue(lab.job("old"), "Completed")).toBe(true));

  expect(lab.newJob("new")).toEqual({});
  expect(actionsOf(lab)).toEqual([]);
});
