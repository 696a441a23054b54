/** A static part of the agent IDs and machines: number `index`, from 0, of `of` parts. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** Whether an agent ID belongs to the shard. A machine belongs to the shard of its agent ID. */
export function isInShard(agentId: string, { index, of }: Shard): boolean {
  return shardOf(agentId, of) === index;
}

export function shardOf(agentId: string, shards: number): number {
  return stableHash(agentId) % shards;
}

/**
 * A 32-bit hash that is the same in every process and version: FNV-1a with MurmurHash3's finalizer, because FNV alone
 * distributes names that differ only in their last digits badly.
 */
function stableHash(text: string): number {
  let bits = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
