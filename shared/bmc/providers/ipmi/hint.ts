import * as z from "zod/mini";

const IpmiHint = z.object({
  cipherSuite: z.optional(z.union([z.literal(3), z.literal(17)])),
  /** IANA enterprise number. */
  manufacturer: z.optional(z.int()),
});
export type IpmiHint = z.infer<typeof IpmiHint>;

/** Anything that is no hint reads as an empty one. */
export function parseHint(hint: unknown): IpmiHint {
  const parsed = IpmiHint.safeParse(hint);
  return parsed.success ? parsed.data : {};
}
