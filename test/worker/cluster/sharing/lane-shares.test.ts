import { describe, expect, test, vi } from "vitest";
import { shardSizes } from "../../../../worker/cluster/sharing/shards.ts";
import { agentIdsTo, LEASE_API, NAMESPACE, startLab, WAIT } from "./sharing-lab.ts";

const isShardWrite = ({ name, verb }: { name?: string | undefined; verb: string }) =>
  verb === "update" && (name ?? "").includes("-shard-");

describe.concurrent("sharing", () => {
  test("every agent ID has one owner, evenly, and the Leases name it", async () => {
    await using lab = await startLab();
    const replicas = await Promise.all(["a", "b", "c"].map((name) => lab.start(name)));

    await lab.shared(...replicas);

    expect(lab.leases("member").map(({ metadata }) => metadata.name)).toEqual([
      "lab-member-a",
      "lab-member-b",
      "lab-member-c",
    ]);
    const shards = lab.leases("shard");
    expect(shards).toHaveLength(shardSizes(lab.agentIds()).size);
    for (const { metadata } of lab.leases()) {
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/managed-by": "pbnj-worker",
        "pbnj-worker/share-group": "lab",
      });
    }
    expect(replicas[0]?.shares.state()).toMatchObject({ valid: true, members: 3, agentIds: 40 });
  });

  test("a joining replica gets its share, and nothing else moves", async () => {
    await using lab = await startLab();
    const first = await lab.start("a");
    await lab.shared(first);
    const before = lab.leases("shard").length;
    lab.cluster.forgetRequests();

    const second = await lab.start("b");
    await lab.shared(first, second);

    const writes = lab.cluster.requests.filter(isShardWrite);
    expect(writes.length).toBeLessThanOrEqual(2 * Math.ceil(before / 2));
  });

  test("a stopping replica releases everything with one request, and the others own it at once", async () => {
    await using lab = await startLab();
    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);
    lab.cluster.forgetRequests();

    await second.stop();

    expect(second.polls.size).toBe(0);
    expect(lab.cluster.requests.filter(({ verb }) => verb === "delete")).toHaveLength(1);
    await lab.shared(first);
  });

  test("new agent IDs get an owner, and the Leases of removed ones are released", async () => {
    await using lab = await startLab();
    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);

    lab.setAgentIds(agentIdsTo(60));
    await lab.shared(first, second);
    lab.setAgentIds(agentIdsTo(5));
    await lab.shared(first, second);

    await vi.waitFor(() => {
      const held = lab
        .leases("shard")
        .filter(({ spec }) => (spec as { holderIdentity?: string })?.holderIdentity !== undefined);
      expect(held).toHaveLength(shardSizes(agentIdsTo(5)).size);
    }, WAIT);
  });

  test("two processes with one name are never members at the same time", async () => {
    await using lab = await startLab();
    const first = await lab.start("a");
    await lab.shared(first);

    const twin = await lab.start("a");
    await vi.waitFor(() => expect(twin.shares.state().problem).toMatch(/another replica is called a/), WAIT);

    expect(twin.shares.isValid).toBe(false);
    await lab.shared(first);
    await first.stop();
    await lab.shared(twin);
  });
});

describe.concurrent("a failing API server", () => {
  test("pauses the lanes during an outage, and nothing moves when it resumes without its history", async () => {
    await using lab = await startLab();
    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);

    await lab.cluster.stop();
    await vi.waitFor(() => {
      for (const { shares, polls } of [first, second]) {
        expect(shares.state().ownedShards).toBe(0);
        expect(polls.size).toBe(0);
      }
    }, WAIT);
    lab.cluster.forgetRequests();
    lab.cluster.expireHistory();
    await lab.cluster.listen();

    await lab.shared(first, second);
    expect(lab.cluster.requests.filter(isShardWrite)).toEqual([]);
    expect(first.logged.map(({ message }) => message)).toContain("lease expired, lanes paused");
  });

  test("is watched again when a watch is silent although renewals succeed", async () => {
    await using lab = await startLab();
    const first = await lab.start("a");
    await lab.shared(first);
    lab.cluster.dropWatches({ silently: true, resource: "leases" });

    const second = await lab.start("b");

    await lab.shared(first, second);
  });

  test("may end watches and compact their history", async () => {
    await using lab = await startLab();
    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);

    lab.cluster.expireHistory();
    lab.cluster.dropWatches({ resource: "leases" });
    const third = await lab.start("c");

    await lab.shared(first, second, third);
  });

  test("may answer 429, reorder requests and lose responses", async () => {
    await using lab = await startLab();
    const matching =
      (verb: string, part: string) => (request: { verb: string; name?: string; body: string }) =>
        request.verb === verb && `${request.name}${request.body}`.includes(part);
    lab.cluster.fail(matching("create", "-member-"), { status: 429, retryAfterSeconds: 0, times: 2 });
    lab.cluster.loseAnswer(matching("create", "-member-b"), 1);
    lab.cluster.loseAnswer(matching("create", "-shard-"), 5);
    lab.cluster.fail(matching("create", "-shard-"), { status: 500, times: 2 });
    lab.cluster.loseAnswer(matching("update", "-shard-"), 5);
    lab.cluster.loseAnswer(matching("update", "-member-"), 2);

    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);
    const third = await lab.start("c");

    await lab.shared(first, second, third);
  });

  test("that denies a right leaves the replica without lanes, with the right in the log", async () => {
    await using lab = await startLab();
    const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
    const first = await lab.start("a", { rules: [{ ...lease, verbs: ["list", "watch"] }] });

    await vi.waitFor(
      () =>
        expect(first.shares.state()).toMatchObject({
          valid: false,
          ownedShards: 0,
          problem: expect.stringMatching(/cannot create resource "leases"/),
        }),
      WAIT,
    );
    const second = await lab.start("b");
    await lab.shared(second);
    expect(first.polls.size).toBe(0);
    const said = first.logged.filter(({ level }) => level === "warn");
    expect(said.map(({ message }) => message)).toEqual(["lease renewal failed, retrying"]);
  });

  test("that denies the watch is logged before the replica joins", async () => {
    await using lab = await startLab();
    const rules = [
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "update"] },
    ];
    const first = await lab.start("a", { rules });

    await vi.waitFor(
      () => expect(first.shares.state().problem).toMatch(/cannot list resource "leases"/),
      WAIT,
    );
    expect(lab.leases("member")).toEqual([]);
  });

  test("without a member's Lease, deleted by hand, makes that replica rejoin", async () => {
    await using lab = await startLab();
    const [first, second] = [await lab.start("a"), await lab.start("b")];
    await lab.shared(first, second);
    const { identity } = second.shares;

    lab.cluster.remove(LEASE_API, "Lease", "lab-member-b", NAMESPACE);

    await vi.waitFor(() => expect(second.shares.identity).not.toBe(identity), WAIT);
    await lab.shared(first, second);
  });
});
