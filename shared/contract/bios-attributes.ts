import * as z from "zod/mini";
import { reporting } from "./value-types.ts";

const MOST_ATTRIBUTES = 500;
const LONGEST_VALUE = 4_096;
const NAME = /^[^\p{Cc}\p{Cf}]{1,200}$/u;

/**
 * A secret: never sent, never shown. Some BMCs number their attributes: `AdministratorPassword_00F2`. `StrongPassword` is a switch:
 * whether passwords must be strong.
 */
export const isBiosPassword = (name: string): boolean =>
  /(?<!strong)pass(word|phrase)(_[0-9a-f]{1,8})?$/i.test(name);

const Value = z.union(
  [
    z.string().check(z.regex(/^[^\p{Cc}]*$/u), z.maxLength(LONGEST_VALUE)),
    z.number().check(z.refine(Number.isFinite)),
    z.boolean(),
  ],
  { error: `must be one line of text of at most ${LONGEST_VALUE} characters, a number, true or false` },
);

/** The problem of names in a map of values; undefined if there is none. */
export function namesProblem(names: readonly string[], most: number): string | undefined {
  if (names.length > most) return `must have at most ${most} names`;
  return names.every((name) => NAME.test(name))
    ? undefined
    : "must have names of 1 to 200 printable characters";
}

/** BIOS attributes to set, by name. */
export const BiosAttributeValues = z
  .record(z.string(), Value)
  .check(reporting((values) => namesProblem(Object.keys(values), MOST_ATTRIBUTES)));
