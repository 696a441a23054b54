import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignShards } from "../../../../worker/cluster/sharing/assign-shards.ts";
import { SHARDS, shardOf, shardSizes } from "../../../../worker/cluster/sharing/shards.ts";

const Members = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 20 });
const Shards = fc.uniqueArray(fc.nat(511), { maxLength: 80 });

function countsOf(members: readonly string[], targets: ReadonlyMap<number, string>): readonly number[] {
  return members.map((member) => [...targets.values()].filter((target) => target === member).length);
}

describe("the assignment of shards", () => {
  test("gives every shard to a member, with counts that differ by at most one, whatever the holders", () => {
    fc.assert(
      fc.property(
        Members,
        Shards,
        fc.func(fc.option(fc.nat(25), { nil: undefined })),
        (members, shards, at) => {
          const targets = assignShards(shards, members, (shard) => members[at(shard) ?? -1]);

          expect([...targets.keys()].toSorted((a, b) => a - b)).toEqual(shards.toSorted((a, b) => a - b));
          const counts = countsOf(members, targets);
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        },
      ),
      { seed: 5 },
    );
  });

  test("does not depend on the order of members and shards", () => {
    fc.assert(
      fc.property(Members, Shards, (members, shards) => {
        const one = assignShards(shards, members, () => undefined);
        const other = assignShards(shards.toReversed(), members.toReversed(), () => undefined);

        expect(new Map([...other].toSorted())).toEqual(new Map([...one].toSorted()));
      }),
      { seed: 5 },
    );
  });

  test("moves no shard without need, and only one share when a member joins", () => {
    fc.assert(
      fc.property(Members, Shards, (members, shards) => {
        const before = assignShards(shards, members, () => undefined);

        expect(assignShards(shards, members, (shard) => before.get(shard))).toEqual(before);
        const joined = [...members, "a member that joins"];
        const after = assignShards(shards, joined, (shard) => before.get(shard));

        const moved = shards.filter((shard) => after.get(shard) !== before.get(shard));
        expect(moved.length).toBeLessThanOrEqual(Math.ceil(shards.length / joined.length));
      }),
      { seed: 5 },
    );
  });
});

describe("the shard of an agent ID", () => {
  test("is the same in every version, because replicas of two versions share", () => {
    const agentIds = ["pbnj-node-0", "pbnj-node-1", "worker/ä", "pbnj-rack-12-node-34"];
    expect(agentIds.map((agentId) => shardOf(agentId))).toEqual([161, 29, 347, 253]);
  });

  test("spreads names that differ in their last digits", () => {
    const sizes = shardSizes(Array.from({ length: 100_000 }, (_, index) => `pbnj-node-${index}`));

    expect(sizes.size).toBe(SHARDS);
    // Five standard deviations of a binomial distribution around 195.
    for (const size of sizes.values()) {
      expect(size).toBeGreaterThan(125);
      expect(size).toBeLessThan(266);
    }
  });
});
