import { expect, it } from "vitest";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { eventually, isTrue, LEASE_NAME, type RufioLab, rufioLab } from "./rufio-lab.ts";

const LEASES = "coordination.k8s.io/v1";
const HELD = "Rufio lease is held, waiting";
const FREE = "Rufio lease is free, taking over";
const LONG_S = 600;

/** What was created, written or deleted. */
const changes = ({ cluster }: RufioLab) =>
  cluster.requests.filter(
    ({ verb, resource }) => ["create", "patch", "update", "delete"].includes(verb) && resource !== "",
  );

const giveUp = ({ cluster }: RufioLab) =>
  cluster.patch(
    LEASES,
    "Lease",
    LEASE_NAME,
    { spec: { holderIdentity: "", leaseDurationSeconds: 1 } },
    "tink-system",
  );

const take = (lab: RufioLab) =>
  lab.cluster.patch(
    LEASES,
    "Lease",
    LEASE_NAME,
    { spec: { holderIdentity: "rufio-2", leaseDurationSeconds: LONG_S } },
    "tink-system",
  );

it.concurrent("does nothing while a Rufio holds its Lease, logs it once, and starts when the Lease is released", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addJob("j1", [{ powerAction: "off" }]);
  lab.cluster.create(LEASES, "Lease", lab.lease("rufio-1", LONG_S));
  const replica = await lab.replica({ statusIntervalMs: 100 });
  await eventually(() => expect(lab.said(HELD)).toHaveLength(1));
  await eventually(() => expect(replica.rufio.state().synced).toBe(true));
  lab.addJob("j2", [{ powerAction: "on" }]);
  // Renewed as a Rufio does, and seen.
  await eventually(() => expect(lab.cluster.openWatches("leases")).toHaveLength(1));
  lab.cluster.patch(
    LEASES,
    "Lease",
    LEASE_NAME,
    { spec: { renewTime: "2026-01-02T03:04:05.000000Z" } },
    "tink-system",
  );

  const before = changes(lab);
  const reads = [...replica.reads];
  giveUp(lab);
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));
  await eventually(() => expect(isTrue(lab.job("j2"), "Completed")).toBe(true));

  expect(before).toEqual([]);
  expect(reads).toEqual([]);
  expect(lab.said(HELD)).toEqual([
    { level: "info", msg: HELD, lease: LEASE_NAME, namespace: "tink-system", holder: "rufio-1" },
  ]);
  expect(lab.said(FREE)).toHaveLength(1);
});

it.concurrent.each([
  ["long ago", "2001-01-01T00:00:00.000000Z"],
  ["in the future", "2101-01-01T00:00:00.000000Z"],
])(
  "treats a Lease that was renewed %s as held until it is unchanged for its duration",
  async (_, renewTime) => {
    await using lab = await rufioLab();
    lab.addMachine();
    lab.addJob("j1", [{ powerAction: "off" }]);
    lab.cluster.create(LEASES, "Lease", lab.lease("rufio-1", 4));
    lab.cluster.patch(LEASES, "Lease", LEASE_NAME, { spec: { renewTime } }, "tink-system");
    await lab.replica();

    await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

    expect(lab.logged.map(({ msg }) => msg).filter((msg) => msg === HELD || msg === FREE)).toEqual([
      HELD,
      FREE,
    ]);
  },
);

it.concurrent("starts and writes nothing once a Rufio acquires the Lease, and writes pending statuses when it is free again", async () => {
  await using lab = await rufioLab({ machines: { "node-01": { powerOffMs: 600 } } });
  lab.addMachine();
  const replica = await lab.replica();
  lab.addJob("j1", [{ powerAction: "off" }, { powerAction: "cycle" }]);
  await eventually(() => expect(lab.machine().commands).toHaveLength(1));
  lab.cluster.create(LEASES, "Lease", lab.lease("rufio-1", LONG_S));
  await eventually(() => expect(replica.rufio.state().leaseFree).toBe(false));
  const before = changes(lab).length;

  await eventually(() => expect(lab.said("action succeeded")).toHaveLength(1));
  await eventually(() => expect(lab.said("report failed, retrying")).not.toEqual([]));
  lab.addJob("j2", [{ powerAction: "on" }]);
  const meanwhile = changes(lab).length - before;
  giveUp(lab);
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

  expect(meanwhile).toBe(0);
  expect(lab.machine().count("off")).toBe(1);
});

it.concurrent("asks the API before it starts anything, because the watch may be stale", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.cluster.create(LEASES, "Lease", lab.lease("", 1));
  const replica = await lab.replica();
  await eventually(() => expect(lab.rufioSynced()).toBe(true));
  await lab.cluster.watchGap("Lease", () => {
    take(lab);
  });
  const before = changes(lab).length;

  lab.addJob("j1", [{ powerAction: "off" }]);
  await eventually(() => expect(replica.rufio.state().leaseFree).toBe(false));

  expect(changes(lab).length).toBe(before);
  expect(lab.said(HELD)).toMatchObject([{ holder: "rufio-2" }]);
});

it.concurrent("does nothing without the right to read the Lease, logs it once, and starts once it has it", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addJob("j1", [{ powerAction: "off" }]);
  const verbs = ["get", "list", "watch", "create", "patch"];
  const rules = [{ apiGroups: ["bmc.tinkerbell.org"], resources: ["*"], verbs }];
  await lab.replica({
    token: lab.cluster.addUser("pbnj-worker", rules),
    clock: scaledClock(20),
    statusIntervalMs: 100,
  });
  const said = () => lab.said("Rufio lease read failed, Rufio work paused");

  await eventually(() => expect(lab.cluster.countBy("get", "leases")).toBeGreaterThan(2));
  const before = changes(lab);
  const first = said().filter(({ level }) => level === "error");
  rules.push({ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs });
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

  expect(before).toEqual([]);
  expect(first).toHaveLength(1);
  expect(first[0]?.["error"]).toContain('cannot get resource "leases"');
});

it.concurrent("reads the Lease in the configured namespace", async () => {
  await using lab = await rufioLab();
  lab.cluster.create(LEASES, "Lease", lab.lease("rufio-1", LONG_S, "default"));
  await lab.replica({ flags: { rufioLeaseNamespace: "default" } });

  await eventually(() => expect(lab.said(HELD)).toMatchObject([{ namespace: "default" }]));
});

it.concurrent("does nothing before it has seen Rufio's Lease, which a Rufio without leader election does not take, and says why", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  lab.addJob("j1", [{ powerAction: "off" }]);
  const replica = await lab.replica({
    statusIntervalMs: 100,
    clock: scaledClock(20),
    flags: { rufioAlone: false },
  });
  await eventually(() => expect(lab.said("Rufio lease not found, Rufio work paused")).toHaveLength(1));
  await eventually(() => expect(replica.rufio.state().synced).toBe(true));
  const before = changes(lab);
  expect(before).toEqual([]);
  expect(replica.reads).toEqual([]);

  // A Rufio with leader election has run here, and stopped.
  lab.cluster.create(LEASES, "Lease", lab.lease("", 1));
  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));
  // Its Lease may go.
  lab.cluster.remove(LEASES, "Lease", LEASE_NAME, "tink-system");
  lab.addJob("j2", [{ powerAction: "on" }]);
  await eventually(() => expect(isTrue(lab.job("j2"), "Completed")).toBe(true));
});
