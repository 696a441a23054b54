import { oneLine } from "../../shared/contract/result.ts";
import { formsOf } from "../../shared/secret-forms.ts";

const WITHHELD = "its last output is withheld because it contains a secret";
/** Keys in the output of commands. */
const KEYS = new Set(["username", "password", "kg", "secrets"]);
/** Assignments that shells trace and headers that clients log: what follows is probably a secret. */
const TELLTALE =
  /(pass(word|wd|phrase)?|secret|token|credential|api[-_]?key|\bkg)["']?\s*(=\s*\S|:\s*\S+\s*$)|authorization["']?\s*:|\bbearer\s+\S{8}/i;
/** Shorter values are flags and names, and addresses are not secret either. */
const SHORTEST = 8;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^@]*$/i;

/**
 * The last line of a command's stderr, as the reason of its failure. Withheld entirely if it contains, in any form,
 * something from stdout or from the given variables, or looks like a secret.
 */
export function lastErrorLine(line: string, stdout: string, given: readonly string[]): string {
  const said = oneLine(line);
  const secrets = given.filter((value) => value.length >= SHORTEST && !ADDRESS.test(value));
  const forms = [...secrets, ...printedIn(stdout)].flatMap(formsOf);
  return TELLTALE.test(said) || forms.some((form) => line.includes(form)) ? WITHHELD : said;
}

/** Everything in the output that may be a secret, even if it is incomplete or not JSON. */
function printedIn(stdout: string): readonly string[] {
  try {
    return leavesOf(JSON.parse(stdout));
  } catch {
    return stdout.split(/[\s"'{}[\],:=]+/).filter((word) => word !== "" && !KEYS.has(word));
  }
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return value === "" ? [] : [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
