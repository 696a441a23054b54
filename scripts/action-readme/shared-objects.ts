import { z } from "zod";
import type { ActionReference } from "../../actions/harness/input/reference.ts";

/** Where each object is described that the results of several actions hold: the name of one of them. */
export type SharedObjects = ReadonlyMap<string, string>;

const Properties = z.record(z.string(), z.unknown());
const Node = z.object({ properties: Properties.optional(), items: z.unknown().optional() });
type Outputs = Readonly<Record<string, ActionReference["output"]>>;

/** Objects of at least two fields that the top of several results has, alone or in a list. An action that reads one describes it. */
export function sharedObjects(outputs: Outputs): SharedObjects {
  const users = Object.entries(outputs).flatMap(([action, output]) =>
    Object.entries(output).flatMap(([member, schema]) =>
      objectsOf(z.toJSONSchema(schema)).map((object) => ({ key: keyOf(object), action, member })),
    ),
  );
  const homes = new Map<string, string>();
  for (const [key, found] of Map.groupBy(users, (user) => user.key)) {
    const reader = found.find(({ member }) => member === "data") ?? found[0];
    if (reader && new Set(found.map(({ action }) => action)).size > 1) homes.set(key, reader.action);
  }
  return homes;
}

/** A key that two objects with equal fields share, whatever they are for. */
export function keyOf(properties: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(properties);
}

function objectsOf(schema: unknown): readonly Readonly<Record<string, unknown>>[] {
  const { properties = {}, items } = Node.parse(schema);
  const inner = [items, ...Object.values(properties)].flatMap((value) => {
    const node = Node.safeParse(value);
    return node.success ? objectsOf(node.data) : [];
  });
  return Object.keys(properties).length > 1 ? [properties, ...inner] : inner;
}
