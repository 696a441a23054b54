import { z } from "zod";
import type { Action } from "../../actions/harness/action.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
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
 * The fields that the action adds to its result, if any; a field that several objects have is one row. Objects and lists of values
 * that are described elsewhere are links.
 */
export function outputTable(action: Action, { output }: ActionReference, shared: SharedObjects): string {
  const places = { home: homeOf(action.name, shared), values: knownValues(action) };
  const fields = Object.entries(output).flatMap(([name, schema]) =>
    fieldsOf([name], z.toJSONSchema(schema), places),
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

/** Where parts of results are described. */
interface Places {
  /** The action whose README describes an object, if it is another one. */
  readonly home: (node: Node) => string | undefined;
  /** What to write instead of a list of values, by the list. */
  readonly values: ReadonlyMap<string, string>;
}

function homeOf(action: string, shared: SharedObjects): Places["home"] {
  return ({ properties }) => {
    const name = properties && shared.get(keyOf(properties));
    return name === action ? undefined : name;
  };
}

function knownValues({ input }: Action): Places["values"] {
  const lists: readonly (readonly [readonly string[], string])[] = [
    [ProviderName.options, "[provider](../../docs/reference/providers/README.md)"],
    [ErrorClass.options, "[error class](../../docs/reference/error-classes.md)"],
    ...Object.values(input).flatMap(({ env, choices }) =>
      choices && choices.length > FEW_VALUES ? [[choices, `as \`${env}\``] as const] : [],
    ),
  ];
  return new Map(lists.map(([values, text]) => [values.join(), text]));
}

/** So many are read faster in their place. */
const FEW_VALUES = 5;

function fieldsOf(
  path: readonly string[],
  schema: unknown,
  places: Places,
  optional = false,
): readonly Field[] {
  const node = Node.parse(schema);
  const type = `${typeOf(node, places)}${optional ? ", optional" : ""}`;
  const isDescribedElsewhere = places.home(node) !== undefined;
  const own =
    node.properties && !node.description && !isDescribedElsewhere
      ? []
      : [{ path, type, description: node.description ?? "" }];
  if (isDescribedElsewhere) return own;
  const required = node.required ?? [];
  const members = Object.entries(node.properties ?? {}).flatMap(([member, inner]) =>
    fieldsOf([...path, member], inner, places, !required.includes(member)),
  );
  const list = [...path.slice(0, -1), `${path.at(-1)}[]`];
  const items = itemsOf(node, places) === undefined ? [] : fieldsOf(list, node.items, places);
  return [...own, ...members, ...items];
}

/** The items of a list that have rows of their own. */
function itemsOf({ items }: Node, { home }: Places): Node | undefined {
  const node = Node.optional().parse(items);
  if (node && home(node)) return undefined;
  return node?.properties || node?.description ? node : undefined;
}

function typeOf(node: Node, places: Places): string {
  const { type, enum: values, const: only, anyOf, items } = node;
  const described = places.home(node);
  if (described) return `object, as in [${described}](../${described}/README.md#result)`;
  if (type === "array" && items !== undefined) return `list of ${typeOf(Node.parse(items), places)}`;
  if (values)
    return places.values.get(values.join()) ?? values.map((value) => `\`${String(value)}\``).join(", ");
  if (only !== undefined) return `\`${String(only)}\``;
  if (anyOf) return anyOf.map((choice) => typeOf(Node.parse(choice), places)).join(" or ");
  return type ?? "any";
}
