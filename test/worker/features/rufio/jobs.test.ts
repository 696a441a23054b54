import { expect, it } from "vitest";
import { BMC_API, eventually, isTrue, rufioLab } from "./rufio-lab.ts";

const off = { powerAction: "off" };
const on = { powerAction: "on" };
const RUNNING = { type: "Running", status: "True" };

it.concurrent("fails a Job with its Task, with Rufio's message, and starts no further Task", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  lab.addJob("j1", [{ bootDevice: { device: "tape" } }, on]);

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));

  expect(lab.job("j1")).toEqual({
    conditions: [RUNNING, { type: "Failed", status: "True", message: "task default/j1-task-0 failed" }],
    startTime: expect.any(String),
  });
  expect(lab.task("j1-task-0")).toMatchObject({
    conditions: [
      {
        type: "Failed",
        status: "True",
        message: expect.stringMatching(/^bootDevice.device is tape: must be one of /),
      },
    ],
  });
  expect(lab.cluster.list(BMC_API, "Task")).toHaveLength(1);
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("waits for a missing Machine, reports it in the Job and once in the log, and continues when it is created", async () => {
  await using lab = await rufioLab();
  await lab.replica();
  lab.addJob("j1", [off]);

  await eventually(() =>
    expect(lab.job("j1")).toEqual({
      conditions: [{ type: "Running", status: "False", message: "machine default/node-01 not found" }],
    }),
  );
  lab.addMachine();
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

  expect(lab.job("j1").conditions?.[0]).toEqual(RUNNING);
  expect(lab.said("Rufio job waiting for its machine", { job: "default/j1" })).toHaveLength(1);
});

it.concurrent("reports why a Machine in an unwatched namespace is not found, if the policy lets the Job name it", async () => {
  await using lab = await rufioLab();
  await lab.replica({ references: () => undefined });
  lab.cluster.create(BMC_API, "Job", {
    metadata: { name: "j1", namespace: "default" },
    spec: { machineRef: { name: "node-01", namespace: "tink-system" }, tasks: [off] },
  });

  await eventually(() =>
    expect(lab.job("j1").conditions?.[0]?.["message"]).toBe(
      "machine tink-system/node-01 is not in default, the namespace that is watched",
    ),
  );
});

it.concurrent("does not change finished Jobs and Tasks", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addJob("done", [off]);
  lab.addJob("failed", [off]);
  lab.addTask("t1", off);
  lab.cluster.patchStatus(BMC_API, "Job", "done", { conditions: [{ type: "Completed", status: "True" }] });
  lab.cluster.patchStatus(BMC_API, "Job", "failed", { conditions: [{ type: "Failed", status: "True" }] });
  lab.cluster.patchStatus(BMC_API, "Task", "t1", { conditions: [{ type: "Failed", status: "True" }] });
  await lab.replica();

  lab.addJob("next", [on]);
  await eventually(() => expect(isTrue(lab.job("next"), "Completed")).toBe(true));

  expect(lab.machine().commands).toEqual([]);
  expect(lab.cluster.list(BMC_API, "Task").map(({ metadata }) => metadata.name)).toEqual([
    "next-task-0",
    "t1",
  ]);
});

it.concurrent("continues a Job that another controller has started, after its last Task", async () => {
  await using lab = await rufioLab({ machines: { "node-01": { power: "off" } } });
  lab.addMachine();
  const job = lab.addJob("j1", [off, { powerAction: "cycle" }, on]);
  const owner = { apiVersion: BMC_API, kind: "Job", name: "j1", uid: job.metadata.uid, controller: true };
  // Rufio has done two of them, and an operator has deleted the first one.
  lab.addTask("j1-task-1", { powerAction: "cycle" }, { metadata: { ownerReferences: [owner] } });
  lab.cluster.patchStatus(BMC_API, "Task", "j1-task-1", {
    conditions: [{ type: "Completed", status: "True" }],
  });
  lab.cluster.patchStatus(BMC_API, "Job", "j1", { conditions: [RUNNING], startTime: "2026-01-02T03:04:05Z" });
  await lab.replica();

  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["on"]);
  expect(lab.job("j1").startTime).toBe("2026-01-02T03:04:05Z");
});

it.concurrent("fails a Job if another Task has the name of its Task, as Rufio does", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addTask("j1-task-0", { powerAction: "status" });
  lab.addJob("j1", [off]);
  await lab.replica();

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));

  expect(lab.job("j1").conditions?.[1]?.["message"]).toBe(
    "failed to create Task default/j1-task-0: another one of that name is there",
  );
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("runs a Job whose name is longer than a label", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  const name = `netboot-${"x".repeat(80)}`;
  lab.addJob(name, [off]);

  await eventually(() => expect(isTrue(lab.job(name), "Completed")).toBe(true));
});

it.concurrent("runs Jobs concurrently, and those of one machine one after the other", async () => {
  const names = ["node-01", "node-02", "node-03"];
  await using lab = await rufioLab({
    machines: Object.fromEntries(names.map((name) => [name, { powerOffMs: 300 }])),
  });
  for (const name of names) lab.addMachine(name);
  await lab.replica();
  for (const name of names) {
    lab.addJob(`a-${name}`, [off, on], name);
    lab.addJob(`b-${name}`, [{ powerAction: "status" }], name);
  }

  await eventually(() => {
    for (const name of names) {
      expect(isTrue(lab.job(`a-${name}`), "Completed")).toBe(true);
      expect(isTrue(lab.job(`b-${name}`), "Completed")).toBe(true);
    }
  });

  for (const name of names) {
    expect(lab.machine(name).commands.map(({ action }) => action)).toEqual(["off", "on"]);
  }
  const firstOffs = names.map((name) => lab.machine(name).commands[0]?.at ?? 0);
  const firstOns = names.map((name) => lab.machine(name).commands[1]?.at ?? 0);
  expect(Math.max(...firstOffs)).toBeLessThan(Math.min(...firstOns));
});

it.concurrent("runs only the Jobs of its own Machines, each once", async () => {
  const names = ["node-01", "node-02", "node-03"];
  await using lab = await rufioLab({ machines: Object.fromEntries(names.map((name) => [name, {}])) });
  for (const name of names) lab.addMachine(name);
  await lab.replica({ owns: (key) => key === "rufio/default/node-01" });
  await lab.replica({ owns: (key) => key === "rufio/default/node-02" });
  for (const name of names) lab.addJob(`j-${name}`, [off, on], name);

  await eventually(() => {
    for (const name of names.slice(0, 2)) expect(isTrue(lab.job(`j-${name}`), "Completed")).toBe(true);
  });

  expect(lab.job("j-node-03")).toEqual({});
  const commands = names.map((name) => lab.machine(name).commands.map(({ action }) => action));
  expect(commands).toEqual([["off", "on"], ["off", "on"], []]);
  expect(lab.cluster.countBy("create", "tasks")).toBe(4);
});
