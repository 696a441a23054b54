import { randomInt } from "node:crypto";
import { Secret } from "../../../shared/secret.ts";

// IPMI 1.5 keeps 16 bytes of a password (IPMI 2.0 section 22.30), and some BMCs still do.
const LENGTH = 16;
/** No characters that look alike; only special characters that BMC web pages and shells accept. */
const KINDS = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_.+"] as const;

/** A random password with a character of each kind, which is what BMCs' rules ask for. */
export function generatePassword(): Secret {
  const all = KINDS.join("");
  const characters = Array.from({ length: LENGTH }, (_, index) => pick(KINDS[index] ?? all));
  // The first ones are of known kinds, so all change places (Fisher and Yates).
  for (let last = LENGTH - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    [characters[last], characters[other]] = [characters[other] ?? "", characters[last] ?? ""];
  }
  return new Secret(characters.join(""));
}

function pick(characters: string): string {
  return characters.charAt(randomInt(characters.length));
}
