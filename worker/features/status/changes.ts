import { defined } from "../../../shared/defined.ts";
import type { Section, View } from "./views/view.ts";

/** The rows and versions that a reader's page has, in order, per section. */
export type Known = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** An update of one section: new or changed rows, and all IDs in order if the order has changed. */
interface SectionChange {
  readonly rows?: Readonly<Record<string, string>>;
  readonly order?: readonly string[];
}

export type Changes = Readonly<Record<string, SectionChange>>;

export function knownOf({ sections }: View): Known {
  return new Map(sections.map(({ id, rows }) => [id, new Map(rows.map((row) => [row.id, row.version]))]));
}

/** The update from `known` to the view; undefined if there is none. */
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
  const rendered = changed.map((row) => [row.id, row.render().text] as const);
  return defined({
    rows: rendered.length > 0 ? Object.fromEntries(rendered) : undefined,
    order: reordered ? order : undefined,
  });
}
