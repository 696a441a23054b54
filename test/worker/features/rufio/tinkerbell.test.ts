import { describe, expect, it } from "vitest";
import { BMC_API, eventually, isTrue, type RufioLab, rufioLab } from "./rufio-lab.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const COMPLETED = {
  conditions: [
    { type: "Running", status: "True" },
    { type: "Completed", status: "True" },
  ],
  startTime: TIME,
  completionTime: TIME,
};
const ISO = "http://192.0.2.9/hook.iso";

/** What Tinkerbell's controller does for a boot mode: clears away what has the Job's name, makes it, and waits. */
async function bootJob(lab: RufioLab, name: string, tasks: readonly object[]) {
  const labels = { "tink-controller-auto-created": "true" };
  for (const task of lab.cluster.list(BMC_API, "Task", "default", `owner-name=${name}`)) {
    lab.cluster.remove(BMC_API, "Task", String(task.metadata.name));
  }
  if (lab.cluster.get(BMC_API, "Job", name)) lab.cluster.remove(BMC_API, "Job", name);
  lab.addJob(name, tasks, "node-01", { labels, annotations: labels });
  await eventually(() => {
    expect(isTrue(lab.job(name), "Failed"), JSON.stringify(lab.job(name))).toBe(false);
    expect(isTrue(lab.job(name), "Completed")).toBe(true);
  });
  return lab.job(name);
}

const power = (powerAction: string) => ({ powerAction });
const bootOnce = (device: string, efiBoot?: true) => ({
  oneTimeBootDeviceAction: { device: [device], ...(efiBoot && { efiBoot }) },
});
const media = (mediaURL?: string) => ({ virtualMediaAction: { kind: "CD", ...(mediaURL && { mediaURL }) } });

describe.concurrent.each([
  ["a cluster with its controllers", true],
  ["Tinkerbell's own API server, which collects no garbage", false],
])("in %s", (_, controllers) => {
  it("runs the Job of the netboot mode, and again when the workflow is recreated", async () => {
    await using lab = await rufioLab({ cluster: { controllers } });
    lab.addMachine();
    await lab.replica();
    const tasks = [power("off"), bootOnce("pxe", true), power("on")];

    const first = await bootJob(lab, "netboot-w1", tasks);
    const second = await bootJob(lab, "netboot-w1", tasks);

    expect(first).toEqual(COMPLETED);
    expect(second).toEqual(COMPLETED);
    expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off", "on", "off", "on"]);
    expect(lab.machine().boots.map(({ device, mode }) => `${device} ${mode}`)).toEqual([
      "pxe uefi",
      "pxe uefi",
    ]);
  });
});

it.concurrent("creates Tasks with the same name, owner, label, spec and status as Rufio does", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();

  await bootJob(lab, "netboot-w1", [power("off"), bootOnce("pxe")]);

  const job = lab.cluster.get(BMC_API, "Job", "netboot-w1");
  const tasks = lab.cluster.list(BMC_API, "Task", "default", "owner-name=netboot-w1");
  expect(tasks).toMatchObject(
    [power("off"), bootOnce("pxe")].map((task, index) => ({
      metadata: {
        name: `netboot-w1-task-${index}`,
        labels: { "owner-name": "netboot-w1", "app.kubernetes.io/managed-by": "pbnj-worker" },
        ownerReferences: [
          { apiVersion: BMC_API, kind: "Job", name: "netboot-w1", uid: job?.metadata.uid, controller: true },
        ],
      },
      spec: { task, connection: lab.connection() },
      status: { conditions: [{ type: "Completed", status: "True" }], startTime: TIME, completionTime: TIME },
    })),
  );
});

it.concurrent("runs the Jobs of the isoboot mode before and after the workflow", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();

  await bootJob(lab, "iso-mount-w1", [
    power("off"),
    media(),
    media(ISO),
    bootOnce("cdrom", true),
    power("on"),
  ]);
  const inserted = lab.bmc().media.slots.map(({ image }) => image);
  await bootJob(lab, "iso-eject-w1", [media()]);

  expect(inserted).toContain(ISO);
  expect(lab.bmc().media.slots.map(({ image }) => image)).not.toContain(ISO);
  expect(lab.machine().boots.map(({ device }) => device)).toEqual(["cdrom"]);
});

it.concurrent("runs the Secure Boot tasks of the customboot mode, and verifies them", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  const before = lab.machine().secureBoot.enabled;

  await bootJob(lab, "customboot-preparing-w1", [
    { secureBoot: { enable: !before } },
    { secureBootResetKeys: { resetType: "DeleteAllKeys" } },
  ]);

  expect(lab.machine().secureBoot).toMatchObject({ enabled: !before, keysAfterBoot: false });
});

it.concurrent("deletes the Task of a deleted Job of the same name, and does not count it", async () => {
  await using lab = await rufioLab({ cluster: { controllers: false } });
  lab.addMachine();
  const owner = { apiVersion: BMC_API, kind: "Job", name: "netboot-w1", controller: true };
  const uid = "5d3c5d5e-0000-4000-8000-000000000002";
  const left = lab.addTask("netboot-w1-task-0", power("off"), {
    metadata: { ownerReferences: [{ ...owner, uid }], labels: { "owner-name": "netboot-w1" } },
  });
  lab.cluster.patchStatus(BMC_API, "Task", "netboot-w1-task-0", {
    conditions: [{ type: "Completed", status: "True" }],
  });
  await lab.replica();

  await eventually(() => expect(lab.rufioSynced()).toBe(true));
  lab.addJob("netboot-w1", [power("off"), power("on")]);

  await eventually(() => expect(lab.job("netboot-w1")).toEqual(COMPLETED));
  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off", "on"]);
  expect(lab.cluster.get(BMC_API, "Task", "netboot-w1-task-0")?.metadata.uid).not.toBe(left.metadata.uid);
});

it.concurrent("sends few requests for a Job of three Tasks", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  await lab.replica();
  await eventually(() => expect(lab.rufioSynced()).toBe(true));
  lab.cluster.forgetRequests();

  await bootJob(lab, "netboot-w1", [power("off"), bootOnce("pxe"), power("on")]);

  // A Task is created, begun and ended; a Job is begun and ended; before each the Lease is looked at.
  expect(lab.cluster.countBy("create", "tasks")).toBe(3);
  expect(
    lab.cluster.requests.filter(({ verb, resource }) => verb === "patch" && resource === "tasks"),
  ).toHaveLength(6);
  expect(
    lab.cluster.requests.filter(({ verb, resource }) => verb === "patch" && resource === "jobs"),
  ).toHaveLength(2);
  expect(lab.cluster.countBy("get", "leases")).toBeLessThanOrEqual(12);
});
