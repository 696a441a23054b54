import { describe, expect, it } from "vitest";
import { rufioRights } from "../../../../worker/features/rufio/rufio-rights.ts";
import { eventually, isTrue, type RufioLab, rufioLab } from "./rufio-lab.ts";

/** A cycle of a machine that is off powers it on, and one more would be seen. */
const tasks = [{ bootDevice: { device: "pxe" } }, { powerAction: "cycle" }, { powerAction: "status" }];
const isOff = { machines: { "node-01": { power: "off" } } } as const;

async function expectDone(lab: RufioLab, job = "j1") {
  await eventually(() => expect(isTrue(lab.job(job), "Completed"), JSON.stringify(lab.job(job))).toBe(true));
  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["on"]);
}

describe.concurrent("a Job is done, and each Task of it once, although", () => {
  it.each([
    ["Tasks are created and the answer is lost", { verb: "create", resource: "tasks" }],
    ["the status of Tasks is written and the answer is lost", { verb: "patch", resource: "tasks" }],
    ["the status of Jobs is written and the answer is lost", { verb: "patch", resource: "jobs" }],
  ] as const)("%s", async (_, matcher) => {
    await using lab = await rufioLab(isOff);
    lab.addMachine();
    const fault = lab.cluster.loseAnswer(matcher, 2);
    await lab.replica();
    lab.addJob("j1", tasks);

    await expectDone(lab);

    expect(fault.hits).toBe(2);
  });

  it.each([
    ["a status meets another's", { verb: "patch", resource: "tasks" }, { status: 409, reason: "Conflict" }],
    ["the API asks to wait", { verb: "create", resource: "tasks" }, { status: 429, retryAfterSeconds: 0 }],
    ["the API fails", { verb: "patch", resource: "jobs" }, { status: 500 }],
    ["the API is not available", { resource: "leases", verb: "get" }, { status: 503 }],
  ] as const)("%s", async (_, matcher, answer) => {
    await using lab = await rufioLab(isOff);
    lab.addMachine();
    const fault = lab.cluster.fail(matcher, { ...answer, times: 2 });
    await lab.replica();
    lab.addJob("j1", tasks);

    await expectDone(lab);

    expect(fault.hits).toBe(2);
  });
});

const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }];
const may = (resource: string, ...verbs: string[]) => ({
  apiGroups: ["bmc.tinkerbell.org"],
  resources: [resource],
  verbs,
});

const onlyRights = (api: "v1alpha1" | "v1alpha2") =>
  rufioRights({ api, hardware: false }).map(({ group, resource, verbs, scope }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: [...verbs],
    namespaces: [scope === "own" ? "tink-system" : "default"],
  }));

it.concurrent("runs a Job of v1alpha2 with only the documented rights", async () => {
  await using lab = await rufioLab({ ...isOff, cluster: { crds: ["v1alpha2"] } });
  lab.addHardware();
  const token = lab.cluster.addUser("pbnj-worker", onlyRights("v1alpha2"));
  await lab.replica({ token, flags: { rufioApi: "v1alpha2" } });
  lab.addNewJob("j1", [{ powerAction: "on" }, { bootDevice: { name: "disk" } }]);

  await eventually(() => expect(isTrue(lab.newJob("j1"), "Completed")).toBe(true));

  expect(lab.logged.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
});

it.concurrent("runs a Job with only the documented rights", async () => {
  await using lab = await rufioLab(isOff);
  lab.addMachine();
  const token = lab.cluster.addUser("pbnj-worker", onlyRights("v1alpha1"));
  await lab.replica({ token, statusIntervalMs: 500 });
  lab.addJob("j1", tasks);

  await expectDone(lab);
  await eventually(() => expect(lab.status().powerState).toBe("on"));

  expect(lab.logged.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
});

it.concurrent("starts nothing that it could not report, logs the missing right, and continues once it has it", async () => {
  await using lab = await rufioLab(isOff);
  lab.addMachine();
  const rules = [...everything, may("tasks", "create"), may("jobs/status", "patch")];
  await lab.replica({ token: lab.cluster.addUser("pbnj-worker", rules) });
  lab.addJob("j1", tasks);

  const [refused] = await eventually(() => {
    const found = lab.said("report rejected");
    expect(found).not.toEqual([]);
    return found;
  });
  expect(refused).toMatchObject({ state: "running", code: "PermissionDenied" });
  expect(refused?.["reason"]).toContain('cannot patch resource "tasks/status"');
  expect(lab.machine().commands).toEqual([]);
  rules.push(may("tasks/status", "patch"));

  await expectDone(lab);
});

it.concurrent("logs once that the right to create Tasks is missing", async () => {
  await using lab = await rufioLab(isOff);
  lab.addMachine();
  const rules = [...everything, may("jobs/status", "patch"), may("tasks/status", "patch")];
  await lab.replica({ token: lab.cluster.addUser("pbnj-worker", rules) });
  lab.addJob("j1", tasks);

  await eventually(() => expect(lab.cluster.countBy("create", "tasks")).toBeGreaterThan(2));
  const said = lab.said("Rufio job update failed, retrying", { level: "warn" });
  rules.push(may("tasks", "create"));

  expect(said).toHaveLength(1);
  expect(said[0]).toMatchObject({
    job: "default/j1",
    error: expect.stringContaining('cannot create resource "tasks"'),
  });
  await expectDone(lab);
});
