import { parse } from "yaml";
import { z } from "zod";

/** A value of the chart with its comment. */
export interface DescribedValue {
  /** Its path, with dots. */
  readonly key: string;
  readonly description: string;
  readonly default: unknown;
}

/** A key, at any depth. */
const KEY_LINE = /^( *)([A-Za-z]\w*):/;

/**
 * The values of the chart: a key with a comment is a value with everything below it; a key without one groups others. Throws if
 * a value has no comment.
 */
export function describedValues(text: string): readonly DescribedValue[] {
  const all: unknown = parse(text);
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
    const value = path.reduce<unknown>(
      (held, part) => z.record(z.string(), z.unknown()).parse(held)[part],
      all,
    );
    if (comment.length > 0) {
      found.push({ key: path.join("."), description: comment.join(" "), default: value });
      inside = depth;
    } else if (line.trim() !== `${name}:`) throw new Error(`${path.join(".")} is not described`);
    comment = [];
  }
  return found;
}

const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
});
type Schema = z.infer<typeof Schema>;

/** The schema of a value; undefined if it has none. */
function schemaAt(schema: unknown, key: string): Schema | undefined {
  return key.split(".").reduce<Schema | undefined>((at, part) => {
    const next = at?.properties?.[part];
    return next === undefined ? undefined : Schema.parse(next);
  }, Schema.parse(schema));
}

/** The path of every value in the schema. */
export function schemaKeys(schema: unknown, before = ""): readonly string[] {
  const { properties } = Schema.parse(schema);
  if (!properties) return [before.slice(0, -1)];
  return Object.entries(properties).flatMap(([name, below]) =>
    typeof below === "boolean" ? [`${before}${name}`] : schemaKeys(below, `${before}${name}.`),
  );
}

function typeText(given: unknown): string {
  const schema = Schema.parse(given);
  if (schema.$ref !== undefined) {
    return schema.$ref
      .replace("#/$defs/", "")
      .replace("optionalObjectName", "name")
      .replace("objectName", "name")
      .replace("labels", "map of text");
  }
  if (schema.enum)
    return [...new Set(schema.enum.filter((each) => typeof each === "string" && each !== ""))].join(", ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeText).filter((each) => each !== ""))].join(", ");
  if (schema.type === "array") return `list of ${typeText(schema.items)}`;
  if (schema.type === "object") return "map";
  return [schema.type].flat().join(" or ").replace("string", "text").replace("integer", "number");
}

/** The table of the chart's README. */
export function valuesTable(text: string, schema: unknown): string {
  const rows = describedValues(text).map(({ key, description, default: value }) => {
    const type = typeText(schemaAt(schema, key) ?? {});
    const fallback = value === "" ? "–" : `\`${JSON.stringify(value)}\``;
    return `| ${[`\`${key}\``, type, fallback, description].map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| key | type | default | what it is |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
