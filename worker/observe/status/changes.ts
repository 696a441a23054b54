import type { Section, View } from "./views/view.ts";

/** What a reader's page has: of each section the rows in their order, with their versions. */
export type Known = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** What has to be done to one section: rows that are new or other, and all IDs in order where that has changed. */
export interface SectionChange {
  readonly rows?: Readonly<Record<string, string>>;
  readonly order?: readonly string[];
}

export type Changes = Readonly<Record<string, SectionChange>>;

export function knownOf({ sections }: View): Known {
  return new Map(sections.map(({ id, rows }) => [id, new Map(rows.map((row) => [row.id, row.version]))]));
}

/** What makes a page that has `known` one that shows the view; undefined where it does already. */
export function changesTo({ sections }: View, known: Known): Changes | undefined {
  const changes = sections.flatMap((section) => {
    const change = sectionChange(section, known.get(section.id));
    return change ? [[section.id, change] as const] : [];
  });
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

function sectionChange(
  { rows }: Section,
  known: ReadonlyMap<string, string> | undefined,
): SectionChange | undefined {
  const changed = rows.filter(({ id, version }) => known?.get(id) !== version);
  const order = rows.map(({ id }) => id);
  const before = known && [...known.keys()];
  const reordered =
    !before || before.length !== order.length || order.some((id, index) => id !== before[index]);
  if (changed.length === 0 && !reordered) return undefined;
  return {
    ...(changed.length > 0 && {
      rows: Object.fromEntries(changed.map((row) => [row.id, row.render().text])),
    }),
    ...(reordered && { order }),
  };
}
