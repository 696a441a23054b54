import { expect, it } from "vitest";
import { shardIn, shardOf } from "../../../worker/machines/shard.ts";
import { loadConfig } from "../../../worker/main/load-config.ts";

it.each([
  ["0/4", { index: 0, of: 4 }],
  ["auto/4", { index: 2, of: 4 }],
  ["auto/5", { index: 1, of: 5 }],
  ["4/4", "must be less than its number of shards: the first one is 0/4, the last 3/4"],
  ["1/0", "must be a shard, such as 0/4 or auto/4"],
  ["1", "must be a shard, such as 0/4 or auto/4"],
])("the shard %s of a pod with the number 6 is %j", (text, expected) => {
  expect(shardIn(text, "pbnj-worker-6")).toEqual(expected);
});

it("a host without a number at the end has no shard of its own", () => {
  expect(shardIn("auto/2", "pbnj-worker-x7b2f")).toMatch(
    /^is auto\/2, but the host's name pbnj-worker-x7b2f does/,
  );
});

it("shards have as many agent IDs as one another, and the same in every version", () => {
  const counts = [0, 0, 0, 0];
  for (let index = 0; index < 10_000; index += 1) {
    const shard = shardOf(`pbnj-node-${index}`, 4);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }

  expect(Math.min(...counts) / Math.max(...counts)).toBeGreaterThan(0.9);
  expect(["pbnj-node-1", "pbnj-node-2", "pbnj-node-3"].map((id) => shardOf(id, 4))).toEqual([1, 2, 0]);
});

it("each shard has a Lease of its own, and all have one owner of Jobs", () => {
  const flags = {
    grpcServer: "tink.example:42113",
    agentId: "pbnj",
    runtime: "kubernetes",
    unsafeAnyImage: true,
  };
  const loaded = loadConfig({ flags: { ...flags, leaderElection: true, shard: "1/4" }, env: {} });

  expect(loaded.ok && loaded.config.leaderElection).toEqual({
    lease: "pbnj-worker-1",
    group: "pbnj-worker",
  });
});

it("is no part of a run, whose template names the machines", () => {
  const loaded = loadConfig({ flags: {}, env: { PBNJ_SHARD: "1/4" } }, "run");

  expect(loaded.ok && loaded.config).not.toHaveProperty("shard");
});
