import type { Setting } from "../../worker/config/setting.ts";
import { settings } from "../../worker/main/settings.ts";

interface JsonSchema {
  [keyword: string]: unknown;
  properties?: Record<string, JsonSchema | true>;
}

const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  "true|false": { type: "boolean" },
  duration: { $ref: "#/$defs/duration" },
  size: { $ref: "#/$defs/size" },
  count: { type: ["integer", "string"] },
  days: { type: ["integer", "string"] },
  number: { type: ["number", "string"], pattern: "^[0-9]+(\\.[0-9]+)?$" },
};

const CHOICE = /^[a-z-]+(\|[a-z-]+)+$/;

/** Settings that the chart can give the worker. */
const inChart = settings.filter(({ chart, noFileKey }) => chart !== "none" && noFileKey === undefined);

/** The chart's values.schema.json with the settings from the worker's schema; the rest is written by hand. */
export function refreshValuesSchema(current: string): string {
  const schema: JsonSchema = JSON.parse(current);
  const config: Record<string, JsonSchema | true> = {};
  for (const setting of inChart) {
    const { name, chart } = setting;
    const own = schemaOf(setting);
    // A template rejects a setting with its own value, and names that value.
    config[name] = chart ? true : (own ?? { type: "string" });
    if (own && typeof chart === "object" && "value" in chart) setAt(schema, chart.value.split("."), own);
  }
  setAt(schema, ["config"], { type: "object", additionalProperties: false, properties: config });
  return formatJson(schema);
}

/** `files/setting-places.yaml`: the values for each setting that is not in `config`. */
export function settingPlaces(): string {
  const lines = inChart.flatMap(({ name, chart }) =>
    typeof chart === "object" ? [`${name}: ${"value" in chart ? chart.value : chart.derivedFrom}\n`] : [],
  );
  return `# Made by npm run docs from the worker's settings.\n${lines.join("")}`;
}

/** Undefined for text, whose format the worker checks. */
function schemaOf({ type, repeatable }: Setting): JsonSchema | undefined {
  const schema = SCHEMAS[type] ?? (CHOICE.test(type) ? { enum: choices(type.split("|")) } : undefined);
  return schema && repeatable ? { type: "array", items: schema, uniqueItems: true } : schema;
}

/** YAML reads `on` and `off` without quotes as booleans. */
function choices(names: readonly string[]): readonly unknown[] {
  return names.includes("on") ? [...names, true, false] : names;
}

/** Replaces the schema of a value, such as `tink.tls.enabled`. Throws when the schema does not have it. */
function setAt(schema: JsonSchema, [first = "", ...rest]: readonly string[], own: JsonSchema): void {
  const below = schema.properties?.[first];
  if (typeof below !== "object" || !schema.properties) throw new Error(`values.schema.json has no ${first}`);
  if (rest.length === 0) schema.properties[first] = own;
  else setAt(below, rest, own);
}

/** JSON in the formatter's style: an array of plain values is on one line. */
function formatJson(value: unknown): string {
  const text = JSON.stringify(value, undefined, 2);
  const joined = text.replace(
    /\[\s+([^[\]{}]+?)\s+\]/g,
    (_, items: string) => `[${items.replace(/\s*\n\s*/g, " ")}]`,
  );
  return `${joined}\n`;
}
