import { expect, it } from "vitest";
import { BMC_API, eventually, isTrue, type RufioLab, rufioLab } from "./rufio-lab.ts";

const slow = { machines: { "node-01": { powerOffMs: 60_000 } } } as const;
const off = { powerAction: "off" };

/** Statuses of Tasks that were written. */
const written = ({ cluster }: RufioLab) =>
  cluster.requests.filter(
    ({ verb, resource, subresource }) => verb === "patch" && `${resource}/${subresource}` === "tasks/status",
  ).length;

it.concurrent.each([
  ["in a cluster with its controllers", true],
  ["where no garbage is collected", false],
])("cancels the action of a Job that is deleted, and reports nothing, %s", async (_, controllers) => {
  await using lab = await rufioLab({ ...slow, cluster: { controllers } });
  lab.addMachine();
  await lab.replica();
  lab.addJob("j1", [off, { powerAction: "on" }]);
  await eventually(() => expect(lab.machine().commands).toHaveLength(1));
  const before = written(lab);

  lab.cluster.remove(BMC_API, "Job", "j1");

  await eventually(() => expect(lab.said("action failed", { class: "cancelled" })).toHaveLength(1));
  // The machine is free for the next one.
  lab.addJob("j2", [{ powerAction: "status" }]);
  await eventually(() => expect(isTrue(lab.job("j2"), "Completed")).toBe(true));
  expect(written(lab) - before).toBe(2);
  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off"]);
});

it.concurrent("does not start the Task of a Job that is deleted while it waits for its machine", async () => {
  await using lab = await rufioLab({ machines: { "node-01": { powerOffMs: 800 } } });
  lab.addMachine();
  await lab.replica();
  lab.addJob("j1", [off]);
  await eventually(() => expect(lab.machine().commands).toHaveLength(1));
  lab.addJob("j2", [{ powerAction: "on" }]);
  await eventually(() => expect(lab.cluster.get(BMC_API, "Task", "j2-task-0")).toBeDefined());

  lab.cluster.remove(BMC_API, "Job", "j2");

  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));
  lab.addJob("j3", [{ powerAction: "status" }]);
  await eventually(() => expect(isTrue(lab.job("j3"), "Completed")).toBe(true));
  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off"]);
});

it.concurrent("fails the Job of a deleted Task, and does not create the Task again", async () => {
  await using lab = await rufioLab(slow);
  lab.addMachine();
  await lab.replica();
  lab.addJob("j1", [off, { powerAction: "on" }]);
  await eventually(() => expect(lab.machine().commands).toHaveLength(1));

  lab.cluster.remove(BMC_API, "Task", "j1-task-0");

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));
  expect(lab.job("j1").conditions?.[1]?.["message"]).toBe(
    "task default/j1-task-0 was deleted before its end",
  );
  await eventually(() => expect(lab.said("action failed", { class: "cancelled" })).toHaveLength(1));
  expect(lab.cluster.list(BMC_API, "Task")).toEqual([]);
  expect(lab.machine().commands).toHaveLength(1);
});

it.concurrent("cancels the action of a Task that is being deleted and is kept by a finalizer", async () => {
  await using lab = await rufioLab(slow);
  lab.addMachine();
  await lab.replica();
  lab.addTask("t1", off, { metadata: { finalizers: ["example.com/keep"] } });
  await eventually(() => expect(lab.machine().commands).toHaveLength(1));

  lab.cluster.remove(BMC_API, "Task", "t1");

  await eventually(() => expect(lab.said("action failed", { class: "cancelled" })).toHaveLength(1));
  expect(lab.task("t1").conditions).toBeUndefined();
});

it.concurrent("cancels an action of an earlier worker whose Task was deleted, and rejects its report", async () => {
  await using lab = await rufioLab();
  const replica = await lab.replica();
  const action = {
    workflowId: "default/j1",
    taskId: "j1-task-0",
    agentId: "rufio",
    actionId: "u1",
    name: "power-on",
  };

  const early = replica.rufio.source.deletions?.cancelOf(action);
  await eventually(() => expect(lab.rufioSynced()).toBe(true));
  await eventually(() => expect(early?.aborted).toBe(true));

  expect(replica.rufio.source.deletions?.cancelOf(action)?.aborted).toBe(true);
  expect(replica.rufio.source.deletions?.cancelOf({ ...action, agentId: "pbnj-node-01" })).toBeUndefined();
  expect(
    await replica.rufio.source.report(
      { action, state: "success", startedAt: new Date(), stoppedAt: new Date(), message: "on" },
      AbortSignal.timeout(10_000),
    ),
  ).toMatchObject({ kind: "gone", code: "NotFound" });
});
