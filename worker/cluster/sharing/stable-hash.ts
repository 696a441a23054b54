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
