import type { BiosState } from "../../shared/bmc/operations/bios.ts";
import { unknownBiosAttribute } from "../../shared/bmc/operations/bios-values.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { formatTable } from "../../shared/table.ts";

const MOST_PATTERNS = 500;

/**
 * Selects attributes by name, ignoring case; `*` matches any characters. Throws `usage` for a name that the BIOS does not
 * have.
 */
export function selectAttributes(state: BiosState, patterns: readonly string[]): BiosState {
  if (patterns.length > MOST_PATTERNS) throw new BmcError("usage", `more than ${MOST_PATTERNS} names`);
  const names = Object.keys({ ...state.attributes, ...state.pending });
  const chosen = new Set<string>();
  const problems: string[] = [];
  for (const pattern of patterns) {
    const found = names.filter((name) => fits(name.toLowerCase(), pattern.toLowerCase()));
    for (const name of found) chosen.add(name);
    if (found.length === 0 && !pattern.includes("*")) {
      problems.push(unknownBiosAttribute(pattern, names, problems.length));
    }
  }
  if (problems.length > 0) throw new BmcError("usage", problems.join("; "));
  const pick = (from: BiosState["attributes"]) =>
    Object.fromEntries(Object.entries(from).filter(([name]) => chosen.has(name)));
  return { ...state, attributes: pick(state.attributes), pending: pick(state.pending) };
}

/** Matches in linear time: each part is searched for once, after the part before it. */
function fits(name: string, pattern: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of parts) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

/** Formats the attributes as a table sorted by name. */
export function biosTable({ attributes, pending }: BiosState): string {
  const names = Object.keys({ ...attributes, ...pending }).toSorted();
  const text = (from: BiosState["attributes"], name: string) =>
    Object.hasOwn(from, name) ? String(from[name]) : "";
  return formatTable(
    ["attribute", "now", "after the next boot"],
    names.map((name) => [name, text(attributes, name), text(pending, name)]),
  );
}
