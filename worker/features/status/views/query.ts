import type { ActionRecord } from "../board/records.ts";

/** The reader's filter and order of a list. */
export interface Query {
  /** The text to search for, in lower case; empty for everything. */
  readonly text: string;
  /** The page number, from 1. */
  readonly page: number;
  /** The state of actions, agent IDs or machines, depending on the page; empty for any. */
  readonly state: string;
  /** The error class of actions; empty for any. */
  readonly class: string;
  /** What failed actions have in common (`causeOf`); empty for any. */
  readonly cause: string;
  /** Labels of machines, in kubectl's syntax; empty for any. */
  readonly selector: string;
  /** The key of the label whose values divide the machines; empty for one group. */
  readonly group: string;
  /** The key to sort by, with a leading hyphen for descending order; empty for the page's own order. */
  readonly sort: string;
}

const LONGEST_TEXT = 100;

/** A page's own list, whole. */
export const EMPTY_QUERY: Query = queryOf(new URLSearchParams());

export function queryOf(searchParams: URLSearchParams): Query {
  const page = Number(searchParams.get("page") ?? "1");
  const text = (name: string) => (searchParams.get(name) ?? "").slice(0, LONGEST_TEXT);
  return {
    text: (searchParams.get("q") ?? "").trim().slice(0, LONGEST_TEXT).toLowerCase(),
    page: Number.isInteger(page) && page > 0 ? page : 1,
    state: text("state"),
    class: text("class"),
    cause: text("cause"),
    selector: text("selector").trim(),
    group: text("group"),
    sort: text("sort"),
  };
}

/** The address of a page with this query, without its defaults. */
export function addressOf(path: string, { text, page, ...filters }: Query): string {
  const parameters = new URLSearchParams();
  if (text !== "") parameters.set("q", text);
  for (const [name, value] of Object.entries(filters)) if (value !== "") parameters.set(name, value);
  if (page > 1) parameters.set("page", String(page));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

export function matches({ text }: Query, ...names: readonly (string | undefined)[]): boolean {
  return text === "" || names.some((name) => name?.toLowerCase().includes(text));
}

export function actionMatches(query: Query, record: ActionRecord): boolean {
  const { action, machine, class: errorClass } = record;
  return (
    (query.class === "" || query.class === errorClass) &&
    (query.cause === "" || (record.phase === "failed" && query.cause === causeOf(record))) &&
    matches(query, machine, action.name, action.workflowId, action.agentId)
  );
}

const VARIABLE =
  /\b\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:.%]+\](?::\d+)?|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b\d+(?:\.\d+)? ?(?:ms|s|m|h)\b/gi;

/** Why an action failed, without what differs between machines: names, addresses, IDs, times and durations. */
export function generalReason({ machine = "", reason = "" }: ActionRecord): string {
  const name = new RegExp(`(?<![\\w.-])${machine.replace(/[^\w-]/g, "\\$&")}(?![\\w.-])`, "g");
  const general = machine === "" ? reason : reason.replace(name, "…");
  return general.replace(VARIABLE, "…");
}

/** What failures with one cause have in common, short enough for an address. */
export function causeOf(record: ActionRecord): string {
  return generalReason(record).slice(0, LONGEST_TEXT).toWellFormed();
}

/** Sorts by the column that the query names; keeps the order without one. Numbers in names are compared as numbers. */
export function sorted<T>(
  items: readonly T[],
  { sort }: Query,
  columns: readonly { readonly sort?: readonly [key: string, value: (one: T) => string | number] }[],
): readonly T[] {
  const descending = sort.startsWith("-");
  const name = descending ? sort.slice(1) : sort;
  const value = columns.find(({ sort: of }) => of?.[0] === name)?.sort?.[1];
  if (!value) return items;
  const byValue = items.map((item) => ({ item, value: value(item) }));
  byValue.sort((a, b) => (descending ? -1 : 1) * compare(a.value, b.value));
  return byValue.map(({ item }) => item);
}

export const collator = new Intl.Collator("en", { numeric: true });

function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly number: number;
  readonly pages: number;
  readonly all: number;
}

export function pageOf<T>(all: readonly T[], size: number, { page }: Query): Page<T> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = Math.min(page, pages);
  return { items: all.slice((number - 1) * size, number * size), number, pages, all: all.length };
}
