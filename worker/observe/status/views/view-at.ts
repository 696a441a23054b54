import type { PageOptions } from "../board/page-options.ts";
import { actionView, machineView, notFound } from "./details.ts";
import { actionList, laneList } from "./lists.ts";
import { overview } from "./overview.ts";
import { queryOf } from "./query.ts";
import type { View } from "./view.ts";

const LISTS = new Map([
  ["", overview],
  ["actions", actionList],
  ["lanes", laneList],
]);

/** The view at an address of the status page. */
export function viewAt(url: URL, options: PageOptions): View {
  const [, kind = "", name, ...rest] = url.pathname.split("/").map(decoded);
  if (name !== undefined && rest.length === 0) {
    const view = kind === "machines" ? machineView(name, options) : actionView(name, options);
    const what = kind === "machines" ? "machine" : "action";
    return view ?? notFound(`There is no ${what} ${name}, or it is no longer kept here.`);
  }
  const list = name === undefined ? LISTS.get(kind) : undefined;
  return list?.(queryOf(url), options) ?? notFound("There is no such page.");
}

/** Decodes a part of a path; invalid encoding stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
