import type { BiosAttributes } from "../../shared/bmc/operations/bios-registry.ts";
import { BiosAttributeValues } from "../../shared/contract/bios-attributes.ts";

/**
 * Parses `Name=Value` pairs, separated by commas or, if there are several lines, one per line. Names and values with commas
 * or `=` need a JSON object. Returns undefined if the text is neither, is empty, or has a name twice.
 */
export function parseBiosAttributes(text: string): BiosAttributes | undefined {
  const given = text.trim();
  const entries = given.startsWith("{") ? jsonEntries(given) : textEntries(given);
  if (!entries || entries.length === 0) return undefined;
  const parsed = BiosAttributeValues.safeParse(Object.fromEntries(entries));
  if (!parsed.success || Object.keys(parsed.data).length < entries.length) return undefined;
  return parsed.data;
}

function jsonEntries(text: string): readonly (readonly [string, unknown])[] | undefined {
  try {
    return Object.entries(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function textEntries(text: string): readonly (readonly [string, unknown])[] | undefined {
  const items = text
    .split(text.includes("\n") ? "\n" : ",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  if (!items.every((item) => item.indexOf("=") > 0)) return undefined;
  return items.map((item) => {
    const at = item.indexOf("=");
    return [item.slice(0, at).trim(), item.slice(at + 1).trim()] as const;
  });
}
