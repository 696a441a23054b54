import type { Cause } from "../api/failure.ts";
import { isObject, type JsonObject } from "../api/object.ts";
import type { ObjectSchema, Schema } from "./schema.ts";

/** The object without what the schema does not know, and with its defaults. */
export function pruned(schema: Schema, value: unknown, path: string, unknown: string[]): unknown {
  if (schema.type === "array" && Array.isArray(value))
    return value.map((item, index) => pruned(schema.items, item, `${path}[${index}]`, unknown));
  if (schema.type !== "object" || !isObject(value) || schema.open) return value;
  const kept: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    const field = fieldOf(schema, name);
    const at = path === "" ? name : `${path}.${name}`;
    // A null is dropped where the field has a default or is not nullable (KEP 95, "defaulting and nullable").
    if (field === undefined) unknown.push(at);
    else if (item !== null) kept[name] = pruned(field, item, at, unknown);
  }
  for (const [name, field] of Object.entries(schema.fields ?? {})) {
    const plain = bare(name);
    if (kept[plain] === undefined && "default" in field) kept[plain] = field.default;
  }
  return kept;
}

/** What the schema has against the value. */
export function violations(schema: Schema, value: unknown, path: string): Cause[] {
  if (!hasType(schema, value)) return [wrongType(schema, value, path)];
  if (schema.type === "string" && typeof value === "string") return textViolations(schema, value, path);
  if (schema.type === "integer" && typeof value === "number") {
    const { minimum, maximum } = schema;
    if (minimum !== undefined && value < minimum)
      return [invalidValue(path, value, `${path} in body should be greater than or equal to ${minimum}`)];
    if (maximum !== undefined && value > maximum)
      return [invalidValue(path, value, `${path} in body should be less than or equal to ${maximum}`)];
  }
  if (schema.type === "array" && Array.isArray(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    if (value.length < minItems)
      return [invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`)];
    if (value.length > maxItems) return [tooMany(path, value.length, maxItems)];
    return value.flatMap((item, index) => violations(schema.items, item, `${path}[${index}]`));
  }
  if (schema.type === "object" && isObject(value)) return objectViolations(schema, value, path);
  return [];
}

function objectViolations(schema: ObjectSchema, value: JsonObject, path: string): Cause[] {
  const causes: Cause[] = [];
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties)
    causes.push(tooMany(path, count, schema.maxProperties));
  for (const [name, item] of Object.entries(value)) {
    const field = fieldOf(schema, name);
    if (field) causes.push(...violations(field, item, join(path, name)));
  }
  for (const name of Object.keys(schema.fields ?? {})) {
    if (name.endsWith("!") && value[bare(name)] === undefined)
      causes.push({ reason: "FieldValueRequired", message: "Required value", field: join(path, bare(name)) });
  }
  for (const rule of schema.rules ?? []) {
    if (!rule.holds(value)) causes.push(invalidValue(path, "object", rule.message));
  }
  return causes;
}

function textViolations(schema: Schema & { type: "string" }, value: string, path: string): Cause[] {
  if (schema.enum && !schema.enum.includes(value)) {
    const supported = schema.enum.map((one) => JSON.stringify(one)).join(", ");
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`;
    return [{ reason: "FieldValueNotSupported", message, field: path }];
  }
  if (schema.minLength !== undefined && value.length < schema.minLength)
    return [invalidValue(path, value, `${path} in body should be at least ${schema.minLength} chars long`)];
  if (schema.maxLength !== undefined && value.length > schema.maxLength)
    return [invalidValue(path, value, `${path} in body should be at most ${schema.maxLength} chars long`)];
  if (schema.pattern !== undefined && !goPattern(schema.pattern).test(value))
    return [invalidValue(path, value, `${path} in body should match '${schema.pattern}'`)];
  if (schema.format && !FORMATS[schema.format](value))
    return [
      invalidValue(path, value, `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`),
    ];
  return [];
}

const FORMATS = {
  "date-time": (value: string) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(value) &&
    !Number.isNaN(Date.parse(value)),
  uri: (value: string) => URL.canParse(value) || value.startsWith("/"),
};

/** Go writes the flag for any case in front of the expression. */
function goPattern(pattern: string): RegExp {
  return pattern.startsWith("(?i)") ? new RegExp(pattern.slice(4), "i") : new RegExp(pattern);
}

function fieldOf(schema: ObjectSchema, name: string): Schema | undefined {
  return schema.fields?.[name] ?? schema.fields?.[`${name}!`] ?? schema.values;
}

const bare = (name: string) => (name.endsWith("!") ? name.slice(0, -1) : name);
const join = (path: string, name: string) => (path === "" ? name : `${path}.${name}`);

function hasType(schema: Schema, value: unknown): boolean {
  switch (schema.type) {
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "boolean":
      return typeof value === schema.type;
    default:
      return schema satisfies never;
  }
}

function wrongType(schema: Schema, value: unknown, path: string): Cause {
  const found = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const message = `Invalid value: "${found}": ${path} in body must be of type ${schema.type}: "${found}"`;
  return { reason: "FieldValueTypeInvalid", message, field: path };
}

function tooMany(path: string, count: number, limit: number): Cause {
  const items = limit === 1 ? "item" : "items";
  return {
    reason: "FieldValueTooMany",
    message: `Too many: ${count}: must have at most ${limit} ${items}`,
    field: path,
  };
}

function invalidValue(path: string, value: unknown, why: string): Cause {
  return {
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
    field: path,
  };
}
