import { stableHash } from "./stable-hash.ts";

/**
 * Agent IDs change their owner by the shard. Many enough that 50 replicas differ by a tenth, few enough that one Lease each
 * is nothing to an API server. Never to be changed: replicas of two versions would not agree on who owns what.
 */
export const SHARDS = 512;

export function shardOf(agentId: string, shards: number = SHARDS): number {
  return stableHash(agentId) % shards;
}

/** How many agent IDs each shard has, in the order of the shards; those without any are left out. */
export function shardSizes(
  agentIds: readonly string[],
  shards: number = SHARDS,
): ReadonlyMap<number, number> {
  const counts = new Array<number>(shards).fill(0);
  for (const agentId of agentIds) {
    const shard = shardOf(agentId, shards);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  const sizes = new Map<number, number>();
  counts.forEach((count, shard) => {
    if (count > 0) sizes.set(shard, count);
  });
  return sizes;
}
