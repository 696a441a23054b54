import { hostname } from "node:os";
import { z } from "zod";

/** A static part of the agent IDs and machines: number `index`, counted from 0, of `of` parts. */
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

const FORM = /^(auto|\d{1,4})\/(\d{1,4})$/;
const AUTO = "auto";

/** A shard such as `0/4`, or `auto/4`, which uses the number at the end of the host's name, like pods of a StatefulSet have. */
export const ShardText = z.string().transform((text, context): Shard => {
  const shard = shardIn(text.trim(), hostname());
  if (typeof shard !== "string") return shard;
  context.addIssue({ code: "custom", message: shard });
  return z.NEVER;
});

/** Returns the shard, or the reason if there is none. */
export function shardIn(text: string, host: string): Shard | string {
  const [, which = "", number = ""] = FORM.exec(text) ?? [];
  const of = Number(number);
  if (of === 0) return "must be a shard, such as 0/4 or auto/4";
  const ordinal = which === AUTO ? /-(\d{1,9})$/.exec(host)?.[1] : which;
  if (ordinal === undefined)
    return `is ${text}, but the host's name ${host} does not end with a number, as pods of a StatefulSet's do`;
  // Several pods of a StatefulSet share a shard, and one of them leads.
  const index = which === AUTO ? Number(ordinal) % of : Number(ordinal);
  return index < of
    ? { index, of }
    : `must be less than its number of shards: the first one is 0/${of}, the last ${of - 1}/${of}`;
}
