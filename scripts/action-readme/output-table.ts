import { z } from "zod";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { markdownTable } from "../markdown-table.ts";

const HEAD = ["field", "type", "description"];

/** The part of JSON Schema that references use. */
const Node = z.object({
  type: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  description: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
});
type Node = z.infer<typeof Node>;
type Row = readonly string[];

/** The fields that the action adds to its result, if any; nested ones with dots, lists with `[]`. */
export function outputTable({ output }: Pick<ActionReference, "output">): string {
  const rows = Object.entries(output).flatMap(([name, schema]) => rowsOf(name, z.toJSONSchema(schema)));
  return rows.length > 0 ? markdownTable(HEAD, rows) : "";
}

function rowsOf(name: string, schema: unknown, optional = false): readonly Row[] {
  const node = Node.parse(schema);
  const own = node.properties && !node.description ? [] : [row(name, node, optional)];
  const required = node.required ?? [];
  const members = Object.entries(node.properties ?? {}).flatMap(([member, inner]) =>
    rowsOf(`${name}.${member}`, inner, !required.includes(member)),
  );
  const items = node.items === undefined ? [] : rowsOf(`${name}[]`, node.items);
  return [...own, ...members, ...items];
}

function row(name: string, node: Node, optional: boolean): Row {
  const type = `${typeOf(node)}${optional ? ", optional" : ""}`;
  return [`\`${name}\``, type, node.description ?? ""];
}

function typeOf({ type, enum: values, const: only, anyOf }: Node): string {
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (only !== undefined) return `\`${String(only)}\``;
  if (anyOf) return anyOf.map((choice) => typeOf(Node.parse(choice))).join(" or ");
  return type ?? "any";
}
