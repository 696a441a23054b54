import type { ActionRecord } from "../board/action-record.ts";

/** The reader's filter of a list. */
export interface Query {
  /** Lower case; empty for everything. */
  readonly text: string;
  /** From 1. */
  readonly page: number;
  /** The state of actions, lanes or power, depending on the page; empty for any. */
  readonly state: string;
}

const LONGEST_TEXT = 100;

export function queryOf({ searchParams }: URL): Query {
  const page = Number(searchParams.get("page") ?? "1");
  return {
    text: (searchParams.get("q") ?? "").trim().slice(0, LONGEST_TEXT).toLowerCase(),
    page: Number.isInteger(page) && page > 0 ? page : 1,
    state: searchParams.get("state") ?? "",
  };
}

/** The address of a page with this query, without its defaults. */
export function addressOf(path: string, { text, page, state }: Query): string {
  const parameters = new URLSearchParams();
  if (text !== "") parameters.set("q", text);
  if (state !== "") parameters.set("state", state);
  if (page > 1) parameters.set("page", String(page));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

export function matches({ text }: Query, ...names: readonly (string | undefined)[]): boolean {
  return text === "" || names.some((name) => name?.toLowerCase().includes(text));
}

export function actionMatches(query: Query, { action, machine }: ActionRecord): boolean {
  return matches(query, machine, action.name, action.workflowId, action.agentId);
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
