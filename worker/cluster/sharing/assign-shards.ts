import { combinedHash, stableHash } from "./shards.ts";

/**
 * Decides which member owns each shard; replicas that see the same Leases decide the same. Counts differ by one at
 * most. A shard stays with its holder unless that has too many; shards that move go to the member with room whose hash
 * ranks highest (rendezvous hashing).
 */
export function assignShards(
  shards: Iterable<number>,
  members: readonly string[],
  holderOf: (shard: number) => string | undefined,
): ReadonlyMap<number, string> {
  const targets = new Map<number, string>();
  const held = new Map<string, number[]>(members.toSorted().map((member) => [member, []]));
  if (held.size === 0) return targets;
  const pool: number[] = [];
  let count = 0;
  for (const shard of shards) {
    count += 1;
    const holder = holderOf(shard);
    const own = holder === undefined ? undefined : held.get(holder);
    if (own) own.push(shard);
    else pool.push(shard);
  }
  const rooms: { readonly member: string; readonly hash: number; room: number }[] = [];
  for (const [member, { quota, own }] of withQuotas(held, count)) {
    const hash = stableHash(member);
    const ranked =
      own.length > quota ? own.toSorted((a, b) => combinedHash(hash, b) - combinedHash(hash, a)) : own;
    for (const shard of ranked.slice(0, quota)) targets.set(shard, member);
    pool.push(...ranked.slice(quota));
    if (quota > own.length) rooms.push({ member, hash, room: quota - own.length });
  }
  for (const shard of pool.toSorted((a, b) => a - b)) {
    const [first, ...others] = rooms.filter(({ room }) => room > 0);
    if (!first) break;
    const chosen = others.reduce(
      (best, one) => (combinedHash(one.hash, shard) > combinedHash(best.hash, shard) ? one : best),
      first,
    );
    chosen.room -= 1;
    targets.set(shard, chosen.member);
  }
  return targets;
}

/** Members that already hold one shard more than the others get the larger quota, so that it need not move. */
function withQuotas(held: ReadonlyMap<string, readonly number[]>, count: number) {
  const least = Math.floor(count / held.size);
  let extra = count - least * held.size;
  const hasMore = ([, own]: readonly [string, readonly number[]]) => (own.length > least ? 0 : 1);
  return [...held]
    .toSorted((a, b) => hasMore(a) - hasMore(b))
    .map(([member, own]) => {
      const quota = extra > 0 ? least + 1 : least;
      extra -= 1;
      return [member, { quota, own }] as const;
    });
}
