import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { TurnRefused } from "../../../../worker/turns/turns.ts";
import { LEASE_API, NAMESPACE, startLab, WAIT } from "./sharing-lab.ts";

const BMC = "bmc 192.0.2.10";
const never = new AbortController().signal;

const bmcs = (verb: string) => (request: { verb: string; name?: string; body: string }) =>
  request.verb === verb && `${request.name} ${request.body}`.includes("-bmc-");

/** Two replicas without agent IDs. */
async function leaseLab() {
  const lab = await startLab({ agentIds: [] });
  const [first, second] = [await lab.start("a"), await lab.start("b")];
  await vi.waitFor(() => {
    for (const { shares } of [first, second])
      expect(shares.state()).toMatchObject({ valid: true, members: 2 });
  }, WAIT);
  const turns = () => lab.leases("bmc");
  return {
    ...lab,
    ...{ first, second, turns },
    released: () => vi.waitFor(() => expect(turns()).toEqual([]), WAIT),
    createJob(actionKey: string): void {
      lab.cluster.create("batch/v1", "Job", {
        metadata: {
          name: `act-${actionKey}`,
          namespace: NAMESPACE,
          labels: { "pbnj-worker/key": actionKey },
        },
        spec: {
          template: {
            spec: {
              restartPolicy: "Never",
              containers: [{ name: "action", image: "registry.example/a:v1" }],
            },
          },
        },
      });
    },
    endJob(actionKey: string): void {
      const at = "2025-06-01T00:00:00Z";
      const conditions = ["FailureTarget", "Failed"].map((type) => ({
        ...{ type, status: "True", lastProbeTime: at, lastTransitionTime: at },
      }));
      lab.cluster.patchStatus(
        "batch/v1",
        "Job",
        `act-${actionKey}`,
        { startTime: at, failed: 1, conditions },
        NAMESPACE,
      );
    },
  };
}

/** With a turn for the action "one" that a replica holds which is not there any more. */
async function deadReplicaLab() {
  const lab = await leaseLab();
  await lab.first.leases.acquire(BMC, never, { actionKey: "one" });
  lab.cluster.patch(
    LEASE_API,
    "Lease",
    lab.turns()[0]?.metadata.name ?? "",
    {
      metadata: { annotations: { "pbnj-worker/action": "one" } },
      spec: { holderIdentity: "gone_00000000" },
    },
    NAMESPACE,
  );
  return lab;
}

/** Whether it has come to an end within a moment; for what must not. */
async function isWaiting(work: Promise<unknown>): Promise<boolean> {
  const ended = work.then(
    () => false,
    () => false,
  );
  return Promise.race([ended, sleep(300, true)]);
}

describe.concurrent("a BMC lease", () => {
  test("costs two requests, and names its holder and action", async () => {
    await using lab = await leaseLab();
    const { first, turns, released } = lab;
    lab.cluster.forgetRequests();

    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    const [lease] = turns();
    release();
    await released();

    expect(lease).toMatchObject({
      metadata: {
        name: expect.stringMatching(/^lab-bmc-[0-9a-f]{40}$/),
        annotations: { "pbnj-worker/action": "one" },
      },
      spec: { holderIdentity: first.shares.identity },
    });
    const sent = lab.cluster.requests.filter(({ name, body }) => `${name} ${body}`.includes("-bmc-"));
    expect(sent.map(({ verb }) => verb)).toEqual(["create", "delete"]);
  });

  test("is not created for a lock by machine name", async () => {
    await using lab = await leaseLab();
    const { first, turns } = lab;
    const release = await first.leases.acquire("machine node-1", never);
    expect(turns()).toEqual([]);
    release();
  });

  test("is held by one replica at a time, and passes to the other when released", async () => {
    await using lab = await leaseLab();
    const { first, second, released } = lab;
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    const other = second.leases.acquire(BMC, never, { actionKey: "two" });
    expect(await isWaiting(other)).toBe(true);

    release();

    (await other)();
    await released();
  });

  test("is released although something else has changed it, and left to a replica that has taken it over", async () => {
    await using lab = await leaseLab();
    const { cluster, first, released, turns } = lab;
    const change = (patch: object) =>
      cluster.patch(LEASE_API, "Lease", turns()[0]?.metadata.name ?? "", patch, NAMESPACE);
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    change({ metadata: { labels: { team: "storage" } } });

    release();
    await released();

    const again = await first.leases.acquire(BMC, never, { actionKey: "two" });
    change({ spec: { holderIdentity: lab.second.shares.identity } });
    again();
    const next = await first.leases.acquire("bmc 192.0.2.11", never, { actionKey: "three" });
    next();
    await vi.waitFor(() => expect(turns()).toHaveLength(1), WAIT);
    expect(turns()[0]?.spec).toMatchObject({ holderIdentity: lab.second.shares.identity });
  });

  test("is awaited locally by a replica's own actions, without requests", async () => {
    await using lab = await leaseLab();
    const { first, released } = lab;
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    lab.cluster.forgetRequests();
    const next = first.leases.acquire(BMC, never, { actionKey: "two" });
    expect(await isWaiting(next)).toBe(true);
    expect(lab.cluster.requests.filter(({ name, body }) => `${name} ${body}`.includes("-bmc-"))).toEqual([]);

    release();

    (await next)();
    await released();
  });

  test("is not acquired after another replica held it for the same action", async () => {
    await using lab = await leaseLab();
    const { first, second } = lab;
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    const other = second.leases.acquire(BMC, never, { actionKey: "one" });
    other.catch(() => undefined);
    expect(await isWaiting(other)).toBe(true);

    release();

    await expect(other).rejects.toBeInstanceOf(TurnRefused);
  });

  test("stops waiting when the signal aborts", async () => {
    await using lab = await leaseLab();
    const { first, second, released } = lab;
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    const impatient = new AbortController();
    const other = second.leases.acquire(BMC, impatient.signal, { actionKey: "two" });
    other.catch(() => undefined);
    expect(await isWaiting(other)).toBe(true);

    impatient.abort(new Error("no more"));

    await expect(other).rejects.toThrow("no more");
    release();
    (await second.leases.acquire(BMC, never, { actionKey: "three" }))();
    await released();
  });

  test("is released if an aborted acquisition created it", async () => {
    await using lab = await leaseLab();
    const { first, second, turns, released } = lab;
    lab.cluster.loseAnswer(bmcs("create"), 1);
    const impatient = new AbortController();
    const aborted = first.leases.acquire(BMC, impatient.signal, { actionKey: "one" });
    aborted.catch(() => undefined);
    await vi.waitFor(() => expect(turns()).toHaveLength(1), WAIT);

    impatient.abort(new Error("no more"));

    await expect(aborted).rejects.toThrow("no more");
    (await second.leases.acquire(BMC, never, { actionKey: "two" }))();
    await released();
  });

  test("is released if a request that got no answer creates it after the action", async () => {
    await using lab = await leaseLab();
    const { first, turns, released } = lab;
    lab.cluster.loseAnswer(bmcs("create"), 1);
    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    const [lease] = turns();
    release();
    await released();

    const { name, namespace, labels, annotations } = lease?.metadata ?? {};
    lab.cluster.create(LEASE_API, "Lease", {
      metadata: { name, namespace, labels, annotations },
      spec: lease?.spec,
    });

    expect(turns()).toHaveLength(1);
    await released();
  });

  test("is acquired and released although responses are lost", async () => {
    await using lab = await leaseLab();
    const { first, turns, released } = lab;
    lab.cluster.loseAnswer(bmcs("create"), 1);
    lab.cluster.fail(bmcs("delete"), { status: 503, times: 2 });
    lab.cluster.loseAnswer(bmcs("delete"), 1);

    const release = await first.leases.acquire(BMC, never, { actionKey: "one" });
    expect(turns()).toHaveLength(1);
    release();

    await released();
    (await first.leases.acquire(BMC, never, { actionKey: "two" }))();
    await released();
  });
});

describe.concurrent("a BMC lease of a dead replica", () => {
  test("is acquired at once for the same action, whose Job still runs", async () => {
    await using lab = await deadReplicaLab();
    const { second, turns, released, createJob, endJob } = lab;
    createJob("one");

    const release = await second.leases.acquire(BMC, never, { actionKey: "one" });

    expect(turns()[0]?.spec).toMatchObject({ holderIdentity: second.shares.identity, leaseTransitions: 1 });
    endJob("one");
    release();
    await released();
  });

  test("has no holder after an aborted acquisition, and still protects its Job", async () => {
    await using lab = await deadReplicaLab();
    const { second, turns, released, createJob, endJob } = lab;
    createJob("one");
    lab.cluster.loseAnswer(bmcs("update"), 1);
    const impatient = new AbortController();
    const aborted = second.leases.acquire(BMC, impatient.signal, { actionKey: "one" });
    aborted.catch(() => undefined);
    const holder = () => turns()[0]?.spec?.["holderIdentity"];
    await vi.waitFor(() => expect(holder()).toBe(second.shares.identity), WAIT);
    impatient.abort(new Error("no more"));
    await expect(aborted).rejects.toThrow("no more");
    await vi.waitFor(() => expect(holder()).toBeUndefined(), WAIT);
    const other = second.leases.acquire(BMC, never, { actionKey: "two" });
    expect(await isWaiting(other)).toBe(true);

    endJob("one");

    (await other)();
    await released();
  });

  test("protects its Job when it is released before the Job has ended", async () => {
    await using lab = await deadReplicaLab();
    const { second, turns, released, createJob, endJob } = lab;
    createJob("one");

    (await second.leases.acquire(BMC, never, { actionKey: "one" }))();

    const holder = () => turns().map(({ spec }) => spec?.["holderIdentity"]);
    await vi.waitFor(() => expect(holder()).toEqual([undefined]), WAIT);
    const other = second.leases.acquire(BMC, never, { actionKey: "two" });
    expect(await isWaiting(other)).toBe(true);
    endJob("one");
    (await other)();
    await released();
  });

  test("is free for another action without a Job", async () => {
    await using lab = await deadReplicaLab();
    const { second, released } = lab;
    (await second.leases.acquire(BMC, never, { actionKey: "two" }))();
    await released();
  });

  test("is removed by the sweep, that of an active Job when it has ended", async () => {
    await using lab = await deadReplicaLab();
    const { turns, createJob, endJob, released } = lab;
    const names = () => turns().map(({ metadata }) => metadata.annotations?.["pbnj-worker/action"]);
    createJob("one");
    const [active] = turns();
    lab.cluster.create(LEASE_API, "Lease", {
      metadata: {
        name: "lab-bmc-of-a-dead-replica",
        namespace: NAMESPACE,
        labels: active?.metadata.labels,
        annotations: { "pbnj-worker/action": "ended" },
      },
      spec: { holderIdentity: "gone_00000000" },
    });
    expect(names()).toHaveLength(2);

    await vi.waitFor(() => expect(names()).toEqual(["one"]), WAIT);
    endJob("one");
    await released();
  });

  test("is refused to another action after 5 s: a Job that was never started ends only in the turn of its own", async () => {
    await using lab = await deadReplicaLab();
    const { second, released, createJob, endJob } = lab;
    createJob("one");

    const other = second.leases.acquire(BMC, never, { actionKey: "two" });
    const own = second.leases.acquire(BMC, never, { actionKey: "one" });

    await expect(other).rejects.toBeInstanceOf(TurnRefused);
    const release = await own;
    endJob("one");
    release();
    await released();
  });

  test("is free for another action only when its Job has ended", async () => {
    await using lab = await deadReplicaLab();
    const { second, released, createJob, endJob } = lab;
    createJob("one");
    const other = second.leases.acquire(BMC, never, { actionKey: "two" });
    expect(await isWaiting(other)).toBe(true);

    endJob("one");

    (await other)();
    await released();
  });
});

test.concurrent("a stopping replica keeps the lease of a running action, and releases that of an ended one", async () => {
  await using lab = await leaseLab();
  const { first, second, turns, released, createJob, endJob } = lab;
  const [running, ended] = [BMC, "bmc 192.0.2.11"];
  createJob("runs");
  const releases = [
    await first.leases.acquire(running, never, { actionKey: "runs" }),
    await first.leases.acquire(ended, never, { actionKey: "ended" }),
  ];
  const stopped = first.stop();
  for (const release of releases) release();
  await stopped;

  expect(turns().map(({ metadata }) => metadata.annotations?.["pbnj-worker/action"])).toEqual(["runs"]);
  const other = second.leases.acquire(running, never, { actionKey: "two" });
  expect(await isWaiting(other)).toBe(true);
  (await second.leases.acquire(ended, never, { actionKey: "two" }))();
  endJob("runs");
  (await other)();
  await released();
});
