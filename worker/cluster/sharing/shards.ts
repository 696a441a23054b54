import { stableHash } from "./stable-hash.ts";

/**
 * Agent IDs are assigned in shards: enough of them that 50 replicas differ by a tenth, few enough that a Lease each
 * does not burden an API server. Never change this: replicas of two versions would disagree about owners.
 */
export const SHARDS = 512;

export function shardOf(agentId: string, shards: number = SHARDS): number {
  return stableHash(agentId) % shards;
}

/** The number of agent IDs per shard, in the order of the shards, without empty ones. */
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
