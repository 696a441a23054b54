import * as z from "zod/mini";

const lenient = <T extends z.ZodMiniType>(schema: T) => z.catch(z.optional(schema), undefined);

/** What one call learns about a BMC for the next. Nothing here is trusted beyond one failed request. */
export const Hint = z.object({
  /** Path of the system, and the selector it was found with. */
  system: z.string().check(z.regex(/^\/[^/]/)),
  selector: lenient(z.string()),
  /** What was learned holds for this make and model only. */
  manufacturer: lenient(z.string()),
  model: lenient(z.string()),
  /** Names of quirks that answers have shown, If-Match needs among them. */
  learned: z.catch(z.array(z.string()), []),
  /** Where resets go, and the types found in ActionInfo, which the system itself does not list. */
  reset: lenient(z.object({ target: z.string(), values: lenient(z.array(z.string())) })),
  /** Whether the settings resource takes the boot override. */
  settingsTakeBoot: lenient(z.boolean()),
  auth: lenient(z.enum(["basic", "session"])),
  /** False when the BMC refused `Accept-Encoding: identity`. */
  identityEncoding: lenient(z.boolean()),
});
export type Hint = z.infer<typeof Hint>;

/** Reads a hint from anywhere; undefined when it is none. */
export function parseHint(value: unknown): Hint | undefined {
  const parsed = Hint.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
