import { expect, it } from "vitest";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { BMC_API, eventually, isTrue, rufioLab } from "./rufio-lab.ts";

const BEGUN = "2026-01-02T03:04:05Z";

it.concurrent("runs a Task without a Job on the Machine with its connection", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  const { port: _port, ...connection } = lab.connection();
  lab.addTask("t1", { powerAction: "off" }, { connection });

  await eventually(() => expect(isTrue(lab.task("t1"), "Completed")).toBe(true));

  expect(lab.machine().power).toBe("off");
  expect(lab.said("action started")[0]).toMatchObject({ workflow: "default/t1", machine: "node-01" });
});

it.concurrent("waits for the Machine of a Task without a Job", async () => {
  await using lab = await rufioLab();
  await lab.replica();
  lab.addTask("t1", { powerAction: "off" });
  await eventually(() => expect(lab.said("Rufio task waiting for its machine")).toHaveLength(1));

  lab.addMachine();

  await eventually(() => expect(isTrue(lab.task("t1"), "Completed")).toBe(true));
});

it.concurrent("fails a Task whose connection no Machine of its namespace has", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addMachine("node-01", "tink-system");
  await lab.replica({ clock: scaledClock(50), watchNamespace: "*" });
  lab.addTask("t1", { powerAction: "off" }, { connection: { ...lab.connection(), host: "127.0.0.1" } });

  await eventually(() => expect(isTrue(lab.task("t1"), "Failed")).toBe(true));

  expect(lab.task("t1").conditions?.[0]?.["message"]).toBe(
    "no Machine in default has the connection of this Task: this worker acts on Machines alone",
  );
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("fails a Task with an unknown field instead of ignoring it, and names what to use", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  lab.cluster.create(BMC_API, "Task", {
    metadata: { name: "t1", namespace: "default" },
    spec: { task: { powerAction: "off" }, machineRef: { name: "node-01", namespace: "default" } },
  });

  await eventually(() => expect(isTrue(lab.task("t1"), "Failed")).toBe(true));

  expect(lab.task("t1").conditions?.[0]?.["message"]).toBe(
    "spec.machineRef is not known to this worker: name the Machine in a Job, or give its connection",
  );
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("fails a Job with an unknown field, and creates no Task", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  lab.cluster.create(BMC_API, "Job", {
    metadata: { name: "j1", namespace: "default" },
    spec: {
      ...{ machineRef: { name: "node-01", namespace: "default" }, tasks: [{ powerAction: "off" }] },
      backoffLimit: 3,
    },
  });

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));

  expect(lab.job("j1").conditions?.find(({ type }) => type === "Failed")?.["message"]).toContain(
    "spec.backoffLimit is not known to this worker",
  );
  expect(lab.cluster.list(BMC_API, "Task")).toEqual([]);
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("fails a Task with the action's message, without a completion time", async () => {
  await using lab = await rufioLab({ machines: { "node-01": { power: "off" } } });
  lab.addMachine();
  await lab.replica();
  lab.addTask("t1", { powerAction: "reset" });

  await eventually(() => expect(isTrue(lab.task("t1"), "Failed")).toBe(true));

  expect(lab.task("t1")).toEqual({
    conditions: [
      {
        type: "Failed",
        status: "True",
        message: expect.stringMatching(
          /^power-reset node-01 failed \(state, exit 17\): redfish: the machine is off/,
        ),
      },
    ],
    startTime: expect.any(String),
  });
});

it.concurrent("fails a Task whose machine is not in the inventory", async () => {
  await using lab = await rufioLab();
  lab.addMachine("node-02");
  await lab.replica();
  lab.addJob("j1", [{ powerAction: "on" }], "node-02");

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));

  expect(lab.task("j1-task-0").conditions?.[0]?.["message"]).toContain(
    "MACHINE is node-02, which the inventory does not have",
  );
});

it.concurrent("reports the timeout of a Task as Rufio does, and does not change an ended Task", async () => {
  await using lab = await rufioLab();
  const replica = await lab.replica();
  await eventually(() => expect(lab.rufioSynced()).toBe(true));
  const task = lab.addTask("t1", { powerAction: "soft" });
  await eventually(() => expect(lab.said("Rufio task waiting for its machine")).toHaveLength(1));
  const action = {
    ...{ workflowId: "default/t1", taskId: "t1", agentId: "rufio", actionId: String(task.metadata.uid) },
    name: "power-off",
  };
  const report = (state: "timeout" | "success") =>
    replica.rufio.source.report(
      {
        ...{ action, state, message: "timed out after 10m 0s" },
        ...{
          startedAt: new Date("2026-01-02T03:04:05.678Z"),
          stoppedAt: new Date("2026-01-02T03:14:05.678Z"),
        },
      },
      AbortSignal.timeout(10_000),
    );

  const first = await report("timeout");
  const again = await report("timeout");
  const another = await report("success");

  expect([first, again]).toEqual([{ kind: "acknowledged" }, { kind: "acknowledged" }]);
  expect(another).toMatchObject({ kind: "gone", code: "FailedPrecondition" });
  expect(lab.task("t1")).toEqual({
    conditions: [{ type: "Failed", status: "True", message: "bmc task timeout: timed out after 10m 0s" }],
    startTime: BEGUN,
  });
});

it.concurrent("continues a Task that another controller has started if it is idempotent", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addTask("t1", { powerAction: "off" });
  lab.cluster.patchStatus(BMC_API, "Task", "t1", { startTime: BEGUN });
  await lab.replica();

  await eventually(() => expect(isTrue(lab.task("t1"), "Completed")).toBe(true));

  expect(lab.task("t1").startTime).toBe(BEGUN);
  expect(lab.machine().power).toBe("off");
});

it.concurrent("fails a Task that another controller has started if it is not idempotent", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addTask("t1", { powerAction: "cycle" });
  lab.cluster.patchStatus(BMC_API, "Task", "t1", { startTime: BEGUN });
  await lab.replica();

  await eventually(() => expect(isTrue(lab.task("t1"), "Failed")).toBe(true));

  expect(lab.task("t1").conditions?.[0]?.["message"]).toBe(
    `it was started at ${BEGUN} by another controller, may have been carried out and is not idempotent, so it is not run again`,
  );
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("does not repeat a cycle that a worker with another journal has started", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const labels = { "app.kubernetes.io/managed-by": "pbnj-worker" };
  lab.addTask("t1", { powerAction: "cycle" }, { metadata: { labels } });
  lab.cluster.patchStatus(BMC_API, "Task", "t1", { startTime: BEGUN });
  await lab.replica();

  await eventually(() => expect(isTrue(lab.task("t1"), "Failed")).toBe(true));

  expect(lab.task("t1").conditions?.[0]?.["message"]).toBe(
    `it was started at ${BEGUN} by an earlier worker, whose journal this one does not have, may have been carried out and is not idempotent, so it is not run again`,
  );
  expect(lab.machine().commands).toEqual([]);
});
