import { z } from "zod";
import type { ActionReference } from "../../actions/harness/input/reference.ts";

const HEAD = "| field | type | description |\n| --- | --- | --- |";

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

/** Every field of the action's result; nested ones with dots, lists with `[]`. */
export function outputTable({ output, readsOnly }: Pick<ActionReference, "output" | "readsOnly">): string {
  const rows = Object.entries(output).flatMap(([name, schema]) => rowsOf(name, z.toJSONSchema(schema)));
  const changed = "| `changed` | boolean | Whether anything was sent that changes the machine |";
  const dryRun =
    "| `data.wouldSend[]` | string | In a dry run, in place of other data: what would be sent, in order |";
  return [HEAD, ...rows, changed, ...(readsOnly ? [] : [dryRun])].join("\n");
}

function rowsOf(name: string, schema: unknown, optional = false): readonly string[] {
  const node = Node.parse(schema);
  const own = node.properties && name === "data" && !node.description ? [] : [row(name, node, optional)];
  const required = node.required ?? [];
  const members = Object.entries(node.properties ?? {}).flatMap(([member, inner]) =>
    rowsOf(`${name}.${member}`, inner, !required.includes(member)),
  );
  const items = node.items === undefined ? [] : rowsOf(`${name}[]`, node.items);
  return [...own, ...members, ...items];
}

function row(name: string, node: Node, optional: boolean): string {
  const type = `${typeOf(node)}${optional ? ", optional" : ""}`;
  return `| \`${name}\` | ${type} | ${node.description ?? ""} |`;
}

function typeOf({ type, enum: values, const: only, anyOf }: Node): string {
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (only !== undefined) return `\`${String(only)}\``;
  if (anyOf) return anyOf.map((choice) => typeOf(Node.parse(choice))).join(" or ");
  return type ?? "any";
}
