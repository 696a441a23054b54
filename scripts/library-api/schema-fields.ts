import type { Node } from "oxc-parser";
import { z } from "zod";
import { Connection } from "../../shared/contract/connection.ts";
import { markdownTable } from "../markdown-table.ts";
import { SourceModule } from "./source-module.ts";

const FILE = "shared/contract/connection.ts";
/** Has the schemas of some of its fields. */
const IRONIC_FILE = "shared/contract/ironic-options.ts";

/** As JSON Schema has it. */
const Schema = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  default: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

/** What `Connection.parse` takes: types and defaults of the schema itself, and the doc comments beside its fields. */
export function connectionTable(): string {
  const sources = [FILE, IRONIC_FILE].map((file) => new SourceModule(file));
  const rows = fieldRows(sources, objectOf(constantIn(sources, "Connection"), sources), inputSchema(), "");
  return markdownTable(["field", "type", "required", "default", "description"], rows);
}

function inputSchema(): unknown {
  return z.toJSONSchema(Connection, { io: "input", unrepresentable: "any" });
}

/** A piece of one of the files. */
interface Place {
  readonly source: SourceModule;
  readonly node: Node;
}

type Fields = ReadonlyMap<string, { readonly value: Place; readonly description: string | undefined }>;

function fieldRows(
  sources: readonly SourceModule[],
  fields: Fields,
  given: unknown,
  prefix: string,
): readonly (readonly string[])[] {
  const { properties = {}, required = [] } = Schema.parse(given);
  return Object.entries(properties).flatMap(([name, property]) => {
    const field = fields.get(name);
    if (!field?.description) throw new Error(`${FILE}: ${prefix}${name} lacks a doc comment`);
    const schema = Schema.parse(property);
    const isGiven = schema.default === undefined || schema.properties !== undefined;
    const row = [
      `\`${prefix}${name}\``,
      typeOf(schema, name),
      required.includes(name) ? "yes" : "no",
      isGiven ? "" : `\`${JSON.stringify(schema.default)}\``,
      field.description,
    ];
    const below = schema.properties ? objectOf(field.value, sources) : new Map();
    return [row, ...fieldRows(sources, below, schema, `${prefix}${name}.`)];
  });
}

function typeOf(given: unknown, name: string): string {
  const { type, enum: values, const: value, anyOf, items } = Schema.parse(given);
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  if (values) return values.map((each) => `\`${JSON.stringify(each)}\``).join(", ");
  if (anyOf) return anyOf.map((each) => typeOf(each, name)).join(", ");
  if (type === "array") return `array of ${typeOf(items, name)}`;
  if (type === undefined) return "any JSON";
  return name.endsWith("Ms") ? "number of milliseconds" : type;
}

/** The fields of the first object literal in a schema, also those that it takes from constants. */
function objectOf(place: Place | undefined, sources: readonly SourceModule[]): Fields {
  const fields: Map<string, { readonly value: Place; readonly description: string | undefined }> = new Map();
  const literal = place && literalIn(place, sources);
  if (literal?.node.type !== "ObjectExpression") return fields;
  const { source } = literal;
  for (const property of literal.node.properties) {
    if (property.type === "SpreadElement") {
      for (const [name, field] of objectOf({ source, node: property.argument }, sources))
        fields.set(name, field);
    } else {
      const name = source.text(property.key).replaceAll('"', "");
      fields.set(name, {
        value: { source, node: property.value },
        description: source.docOf(property)?.text,
      });
    }
  }
  return fields;
}

/** Follows calls to what they are called on and to their arguments, and names to their constants. */
function literalIn({ source, node }: Place, sources: readonly SourceModule[]): Place | undefined {
  if (node.type === "ObjectExpression") return node.properties.length > 0 ? { source, node } : undefined;
  if (node.type === "Identifier") {
    const constant = constantIn(sources, node.name);
    return constant && literalIn(constant, sources);
  }
  if (node.type === "MemberExpression") return literalIn({ source, node: node.object }, sources);
  if (node.type !== "CallExpression") return undefined;
  for (const part of [node.callee, ...node.arguments]) {
    const found = literalIn({ source, node: part }, sources);
    if (found) return found;
  }
  return undefined;
}

function constantIn(sources: readonly SourceModule[], name: string): Place | undefined {
  for (const source of sources) {
    const node = source.constant(name);
    if (node) return { source, node };
  }
  return undefined;
}
