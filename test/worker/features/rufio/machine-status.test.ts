import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { BMC_API, eventually, isTrue, type RufioLab, rufioLab } from "./rufio-lab.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const CONTACTABLE = { type: "Contactable", status: "True", lastUpdateTime: TIME };
const writes = ({ cluster }: RufioLab) => cluster.countBy("patch", "machines");

it.concurrent("reads the power state every interval, and writes it only when it changes", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const replica = await lab.replica({ statusIntervalMs: 50 });
  await eventually(() => expect(lab.status()).toEqual({ powerState: "on", conditions: [CONTACTABLE] }));
  const { conditions } = lab.status();

  await eventually(() => expect(replica.reads.length).toBeGreaterThan(5));
  const after = writes(lab);
  lab.machine().do("off");
  await eventually(() => expect(lab.status().powerState).toBe("off"));

  expect(after).toBe(1);
  expect(lab.status().conditions).toEqual(conditions);
  expect(
    lab.cluster.requests.filter(({ verb, subresource }) => verb === "patch" && subresource !== "status"),
  ).toEqual([]);
});

it.concurrent("reports once why a BMC is unreachable, and when it is reachable again", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const replica = await lab.replica({ statusIntervalMs: 50 });
  await eventually(() => expect(lab.status().powerState).toBe("on"));

  await lab.bmc().stop();
  await eventually(() => expect(lab.status().powerState).toBe("unknown"));
  const away = lab.status().conditions;
  const [count, reads] = [writes(lab), replica.reads.length];
  await eventually(() => expect(replica.reads.length).toBeGreaterThan(reads + 3));
  const later = writes(lab);
  await lab.bmc().listen(lab.bmc().port, "127.0.0.1");
  await eventually(() => expect(lab.status()).toEqual({ powerState: "on", conditions: [CONTACTABLE] }));

  expect(away).toEqual([{ ...CONTACTABLE, status: "False", message: expect.stringContaining("redfish: ") }]);
  expect(later).toBe(count);
  expect(lab.said("Rufio machine not contactable", { rufioMachine: "default/node-01" })).toHaveLength(1);
});

it.concurrent("uses the power state of an action, and reads it only after an action without one", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const replica = await lab.replica();
  lab.addJob("j1", [{ powerAction: "off" }]);
  await eventually(() => expect(lab.status()).toEqual({ powerState: "off", conditions: [CONTACTABLE] }));
  const reads = [...replica.reads];
  lab.machine().do("on");

  lab.addJob("j2", [{ bootDevice: { device: "pxe" } }]);
  await eventually(() => expect(lab.status().powerState).toBe("on"));

  expect(reads).toEqual([]);
  expect(replica.reads).toEqual(["node-01"]);
});

it.concurrent("does not retry a refused password until its Secret changes", async () => {
  await using lab = await rufioLab();
  await writeFile(lab.passwordFile, "wrong\n");
  lab.addSecret("node-01", "wrong");
  lab.addMachine();
  const replica = await lab.replica({ statusIntervalMs: 3_000, clock: scaledClock(30) });
  await eventually(() => expect(lab.status().powerState).toBe("unknown"));
  const { refusedCredentials } = lab.bmc();
  const looked = lab.cluster.countBy("get", "secrets");

  await eventually(() => expect(lab.cluster.countBy("get", "secrets")).toBeGreaterThan(looked + 3));
  const reads = replica.reads.length;
  await writeFile(lab.passwordFile, "calvin\n");
  lab.cluster.patch("v1", "Secret", "node-01-bmc", { stringData: { password: "calvin" } });
  await eventually(() => expect(lab.status().powerState).toBe("on"));

  expect(reads).toBe(1);
  expect(lab.bmc().refusedCredentials).toBe(refusedCredentials);
});

it.concurrent("retries a refused password when the Machine's connection changes, even without the right to read Secrets", async () => {
  await using lab = await rufioLab();
  await writeFile(lab.passwordFile, "wrong\n");
  lab.addMachine();
  const rules = [
    { apiGroups: ["bmc.tinkerbell.org"], resources: ["*"], verbs: ["get", "list", "watch", "patch"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch"] },
  ];
  const token = lab.cluster.addUser("pbnj-worker", rules);
  const replica = await lab.replica({ statusIntervalMs: 3_000, clock: scaledClock(30), token });
  await eventually(() => expect(lab.cluster.countBy("get", "secrets")).toBeGreaterThan(3));
  const reads = replica.reads.length;

  await writeFile(lab.passwordFile, "calvin\n");
  const connection = { authSecretRef: { name: "another", namespace: "default" } };
  lab.cluster.patch(BMC_API, "Machine", "node-01", { spec: { connection } });

  await eventually(() => expect(lab.status().powerState).toBe("on"));
  expect(reads).toBe(1);
});

it.concurrent("remembers the refused password of an action", async () => {
  await using lab = await rufioLab();
  await writeFile(lab.passwordFile, "wrong\n");
  lab.addSecret("node-01", "wrong");
  lab.addMachine();
  const replica = await lab.replica();
  lab.addJob("j1", [{ powerAction: "off" }]);

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));
  await eventually(() => expect(lab.status().conditions?.[0]?.["status"]).toBe("False"));

  expect(replica.reads).toEqual([]);
});

it.concurrent("reads only owned Machines, a few at a time, and a new one soon", async () => {
  const names = ["node-01", "node-02", "node-03", "node-04", "node-05", "node-06"];
  await using lab = await rufioLab({ machines: Object.fromEntries(names.map((name) => [name, {}])) });
  for (const name of names.slice(0, 5)) lab.addMachine(name);
  for (const name of names) lab.bmc(name).latencyMs = 30;
  const owned = new Set(names.filter((name) => name !== "node-05").map((name) => `rufio/default/${name}`));
  const replica = await lab.replica({
    ...{ statusIntervalMs: 400_000, maxReads: 2, random: () => 0, owns: (key) => owned.has(key) },
  });
  await eventually(() => {
    for (const name of names.slice(0, 4)) expect(lab.status(name).powerState).toBe("on");
  });

  lab.addMachine("node-06");
  await eventually(() => expect(lab.status("node-06").powerState).toBe("on"));

  expect(lab.status("node-05")).toEqual({});
  expect(replica.readers.concurrency).toBe(2);
  expect(replica.reads.toSorted()).toEqual(names.filter((name) => name !== "node-05"));
});

it.concurrent("retries a failed write without another read", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const fault = lab.cluster.fail({ verb: "patch", resource: "machines" }, { status: 500, times: 2 });
  const replica = await lab.replica({ clock: scaledClock(100) });
  lab.addJob("j1", [{ powerAction: "off" }]);

  await eventually(() => expect(lab.status().powerState).toBe("off"));

  expect(fault.hits).toBe(2);
  expect(replica.reads).toEqual([]);
  expect(lab.said("Rufio machine status update failed, retrying", { level: "warn" })).toHaveLength(1);
});

it.concurrent("writes no status of a machine that its inventory pauses", async () => {
  await using lab = await rufioLab({ machines: { "node-01": {}, "node-02": {} } });
  const {
    machines: [first, ...others],
    ...rest
  } = lab.inventoryOf();
  await lab.write("inventory.yaml", { ...rest, machines: [{ ...first, paused: "new disks" }, ...others] });
  lab.addMachine();
  lab.addMachine("node-02");
  const replica = await lab.replica({ statusIntervalMs: 50 });

  await eventually(() => expect(lab.status("node-02").powerState).toBe("on"));
  await eventually(() =>
    expect(replica.reads.filter((name) => name === "node-01").length).toBeGreaterThan(1),
  );

  expect(lab.status("node-01")).toEqual({});
});

it.concurrent.each(["cluster.x-k8s.io/paused", "pbnj-worker/paused"])(
  "leaves a Machine with %s alone, and writes its status once it is not paused any more",
  async (annotation) => {
    await using lab = await rufioLab();
    lab.addMachine();
    const pause = (value: string | null) =>
      lab.cluster.patch(
        BMC_API,
        "Machine",
        "node-01",
        { metadata: { annotations: { [annotation]: value } } },
        "default",
      );
    pause("true");
    lab.addMachine("node-02", "default");
    const replica = await lab.replica({ statusIntervalMs: 50 });
    await eventually(() => expect(replica.reads.length).toBeGreaterThan(5));
    const whilePaused = [lab.status(), new Set(replica.reads)];
    pause(null);
    await eventually(() => expect(lab.status().powerState).toBe("on"));

    expect(whilePaused).toEqual([{}, new Set(["node-02"])]);
  },
);
