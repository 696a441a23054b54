import { randomInt } from "node:crypto";

/** No vowels and no look-alikes, as the API server's name generator has it. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** Five characters: what `generateName` and controllers append. */
export function randomSuffix(length = 5): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}
