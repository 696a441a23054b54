import { oneLine } from "../../shared/contract/result.ts";
import { formsOf } from "../../shared/secret-forms.ts";

const WITHHELD = "its last output is withheld because it contains a secret";
/** Keys of what commands print. */
const KEYS = new Set(["username", "password", "kg", "secrets"]);
/** As shells trace assignments, and as clients log headers: what follows is more often a secret than not. */
const TELLTALE =
  /(pass(word|wd|phrase)?|secret|token|credential|api[-_]?key|\bkg)["']?\s*(=\s*\S|:\s*\S+\s*$)|authorization["']?\s*:|\bbearer\s+\S{8}/i;
/** Shorter values of variables are switches and names, and so are addresses. */
const SHORTEST = 8;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^@]*$/i;

/**
 * The last line of a command's stderr as the reason of its failure. Withheld whole when it holds, in any form,
 * anything that the command printed on stdout or one of the values it was given in variables, or looks as if it told
 * a secret.
 */
export function lastErrorLine(line: string, stdout: string, given: readonly string[]): string {
  const said = oneLine(line);
  const secrets = given.filter((value) => value.length >= SHORTEST && !ADDRESS.test(value));
  const forms = [...secrets, ...printedIn(stdout)].flatMap(formsOf);
  return TELLTALE.test(said) || forms.some((form) => line.includes(form)) ? WITHHELD : said;
}

/** Whatever may be a secret in what was printed, also when it is no JSON, or broken off. */
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
