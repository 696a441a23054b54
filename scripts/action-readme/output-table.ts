import { z } from "zod";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { markdownTable } from "../markdown-table.ts";
import { keyOf, type SharedObjects } from "./shared-objects.ts";

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
interface Field {
  /** Its path, such as `data.disks[].vendor`. */
  readonly path: readonly string[];
  readonly type: string;
  readonly description: string;
}

/**
 * The fields that the action adds to its result, if any; a field that several objects have is one row. Objects that another
 * action's README describes are links to it.
 */
export function outputTable(action: string, { output }: ActionReference, shared: SharedObjects): string {
  const home = ({ properties }: Node) => {
    const name = properties && shared.get(keyOf(properties));
    return name === action ? undefined : name;
  };
  const fields = Object.entries(output).flatMap(([name, schema]) =>
    fieldsOf([name], z.toJSONSchema(schema), home),
  );
  const rows = Map.groupBy(fields, ({ path, type, description }) =>
    JSON.stringify([path.length === 1 || path.at(-1), type, description]),
  );
  return rows.size > 0 ? markdownTable(HEAD, [...rows.values()].map(row)) : "";
}

function row(same: readonly Field[]): readonly string[] {
  const { type = "", description = "" } = same[0] ?? {};
  return [`\`${joined(same)}\``, type, description];
}

/** Paths that end in the same name, as a shell expands them: `data.{system,chassis}.vendor`; or of one name, `{before,after}`. */
function joined(same: readonly Field[]): string {
  const paths = same.map(({ path }) => path);
  const [first = []] = paths;
  if (paths.length === 1) return first.join(".");
  if (first.length === 1) return `{${paths.join(",")}}`;
  let shared = 0;
  while (paths.every((path) => path.length > shared + 2 && path[shared] === first[shared])) shared += 1;
  const parents = paths.map((path) => path.slice(shared, -1).join("."));
  return [...first.slice(0, shared), `{${parents.join(",")}}`, first.at(-1)].join(".");
}

/** The action whose README describes an object, if it is another one. */
type Home = (node: Node) => string | undefined;

function fieldsOf(path: readonly string[], schema: unknown, home: Home, optional = false): readonly Field[] {
  const node = Node.parse(schema);
  const type = `${typeOf(node, home)}${optional ? ", optional" : ""}`;
  const own =
    node.properties && !node.description && !home(node)
      ? []
      : [{ path, type, description: node.description ?? "" }];
  if (home(node)) return own;
  const required = node.required ?? [];
  const members = Object.entries(node.properties ?? {}).flatMap(([member, inner]) =>
    fieldsOf([...path, member], inner, home, !required.includes(member)),
  );
  const list = [...path.slice(0, -1), `${path.at(-1)}[]`];
  const items = itemsOf(node, home) === undefined ? [] : fieldsOf(list, node.items, home);
  return [...own, ...members, ...items];
}

/** Those of a list that have rows of their own. */
function itemsOf({ items }: Node, home: Home): Node | undefined {
  const node = Node.optional().parse(items);
  if (node && home(node)) return undefined;
  return node?.properties || node?.description ? node : undefined;
}

function typeOf(node: Node, home: Home): string {
  const { type, enum: values, const: only, anyOf, items } = node;
  const described = home(node);
  if (described) return `object, as in [${described}](../${described}/README.md#result)`;
  if (type === "array" && items !== undefined) return `list of ${typeOf(Node.parse(items), home)}`;
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (only !== undefined) return `\`${String(only)}\``;
  if (anyOf) return anyOf.map((choice) => typeOf(Node.parse(choice), home)).join(" or ");
  return type ?? "any";
}
