import type { Section } from "./views/view.ts";

/** The versions of the rows that a reader's page has, in order, per section. */
export type Known = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Updates per section: new or changed rows, and all IDs in order if the order has changed. */
export type Changes = Readonly<
  Record<
    string,
    { readonly rows?: Readonly<Record<string, string>>; readonly order?: readonly string[] | undefined }
  >
>;

export function knownOf(sections: readonly Section[]): Known {
  return new Map(sections.map(({ id, rows }) => [id, new Map(rows.map((row) => [row.id, row.version]))]));
}

/** The update from `known` to the sections; undefined if there is none. */
export function changesTo(sections: readonly Section[], known: Known): Changes | undefined {
  const changes = sections.flatMap(({ id, rows }) => {
    const before = known.get(id);
    const changed = rows.filter((row) => before?.get(row.id) !== row.version);
    const ids = before && [...before.keys()];
    const isInOrder = rows.length === ids?.length && rows.every((row, index) => row.id === ids[index]);
    if (changed.length === 0 && isInOrder) return [];
    const rendered = Object.fromEntries(changed.map((row) => [row.id, row.render().text]));
    const order = isInOrder ? undefined : rows.map((row) => row.id);
    return [[id, { ...(changed.length > 0 && { rows: rendered }), order }] as const];
  });
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}
