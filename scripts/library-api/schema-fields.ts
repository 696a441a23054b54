import type { Node } from "oxc-parser";
import { z } from "zod";
import { Connection } from "../../shared/contract/connection.ts";
import { markdownTable } from "../markdown-table.ts";
import { SourceModule } from "./source-module.ts";

const FILE = "shared/contract/connection.ts";

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
  const source = new SourceModule(FILE);
  const rows = fieldRows(source, objectOf(source, source.constant("Connection")), inputSchema(), "");
  return markdownTable(["field", "type", "required", "default", "description"], rows);
}

function inputSchema(): unknown {
  return z.toJSONSchema(Connection, { io: "input", unrepresentable: "any" });
}

function fieldRows(
  source: SourceModule,
  fields: ReadonlyMap<string, { readonly value: Node; readonly description: string | undefined }>,
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
    const below = schema.properties ? objectOf(source, field.value) : new Map();
    return [row, ...fieldRows(source, below, schema, `${prefix}${name}.`)];
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
function objectOf(
  source: SourceModule,
  node: Node | undefined,
): ReadonlyMap<string, { readonly value: Node; readonly description: string | undefined }> {
  const fields = new Map<string, { readonly value: Node; readonly description: string | undefined }>();
  const object = node && literalIn(source, node);
  for (const property of object?.type === "ObjectExpression" ? object.properties : []) {
    if (property.type === "SpreadElement") {
      for (const [name, field] of objectOf(source, property.argument)) fields.set(name, field);
    } else {
      const name = source.text(property.key).replaceAll('"', "");
      fields.set(name, { value: property.value, description: source.docOf(property)?.text });
    }
  }
  return fields;
}

/** Follows calls to what they are called on and to their arguments, and names to their constants. */
function literalIn(source: SourceModule, node: Node): Node | undefined {
  if (node.type === "ObjectExpression") return node.properties.length > 0 ? node : undefined;
  if (node.type === "Identifier") {
    const constant = source.constant(node.name);
    return constant && literalIn(source, constant);
  }
  if (node.type === "MemberExpression") return literalIn(source, node.object);
  if (node.type !== "CallExpression") return undefined;
  for (const part of [node.callee, ...node.arguments]) {
    const found = literalIn(source, part);
    if (found) return found;
  }
  return undefined;
}
