import { z } from "zod";

/** A value of the chart with its comment. */
interface DescribedValue {
  /** Its path, with dots. */
  readonly key: string;
  readonly description: string;
}

/** A key, at any depth. */
const KEY_LINE = /^( *)([A-Za-z]\w*):/;

/**
 * The values of the chart: a key with a comment is a value with everything below it; a key without one groups others. Throws if
 * a value has no comment.
 */
export function describedValues(text: string): readonly DescribedValue[] {
  const found: DescribedValue[] = [];
  const path: string[] = [];
  let comment: string[] = [];
  let inside: number | undefined;
  for (const line of text.split("\n")) {
    const [, indent = "", name] = KEY_LINE.exec(line) ?? [];
    const depth = indent.length / 2;
    if (inside !== undefined && (line.trim() === "" || line.search(/\S/) > inside * 2)) continue;
    inside = undefined;
    const [, words] = /^ *# (.*)$/.exec(line) ?? [];
    if (words !== undefined) comment.push(words);
    if (name === undefined) continue;
    path.splice(depth, path.length, name);
    if (comment.length > 0) {
      found.push({ key: path.join("."), description: comment.join(" ") });
      inside = depth;
    } else if (line.trim() !== `${name}:`) throw new Error(`${path.join(".")} is not described`);
    comment = [];
  }
  return found;
}

const Schema = z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() });

/** The path of every value in the schema. */
export function schemaKeys(schema: unknown, before = ""): readonly string[] {
  const { properties } = Schema.parse(schema);
  if (!properties) return [before.slice(0, -1)];
  return Object.entries(properties).flatMap(([name, below]) =>
    typeof below === "boolean" ? [`${before}${name}`] : schemaKeys(below, `${before}${name}.`),
  );
}
