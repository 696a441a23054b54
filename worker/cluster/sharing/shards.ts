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
  const sizes = Object.entries(Object.groupBy(agentIds, (agentId) => shardOf(agentId, shards)));
  return new Map(sizes.map(([shard, { length = 0 } = []]) => [Number(shard), length]));
}

/**
 * A 32-bit hash that is the same in every process and version, because replicas of two versions share lanes during an
 * update. FNV-1a with MurmurHash3's finalizer: FNV alone spreads names that differ in their last digits badly.
 */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mixed(hash);
}

/** Combines two hashes; the order matters. */
export function combinedHash(one: number, other: number): number {
  return mixed(one ^ Math.imul(other + 1, 0x9e3779b1));
}

function mixed(hash: number): number {
  let bits = hash;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
