import { hostname } from "node:os";
import { z } from "zod";
import type { Shard } from "./shard.ts";

const FORM = /^(auto|\d{1,4})\/(\d{1,4})$/;
const AUTO = "auto";

/** `0/4`, or `auto/4`: by the number at the end of the host's name, as pods of a StatefulSet have one. */
export const ShardText = z.string().transform((text, context): Shard => {
  const shard = shardIn(text.trim(), hostname());
  if (typeof shard !== "string") return shard;
  context.addIssue({ code: "custom", message: shard });
  return z.NEVER;
});

/** The reason if there is none. */
export function shardIn(text: string, host: string): Shard | string {
  const [, which = "", number = ""] = FORM.exec(text) ?? [];
  const of = Number(number);
  if (of === 0) return "must be a shard, such as 0/4 or auto/4";
  const ordinal = which === AUTO ? /-(\d{1,9})$/.exec(host)?.[1] : which;
  if (ordinal === undefined)
    return `is ${text}, but the host's name ${host} does not end with a number, as pods of a StatefulSet's do`;
  // Several pods of a StatefulSet have the same shard, of which one leads.
  const index = which === AUTO ? Number(ordinal) % of : Number(ordinal);
  return index < of
    ? { index, of }
    : `must be less than its number of shards: the first one is 0/${of}, the last ${of - 1}/${of}`;
}
