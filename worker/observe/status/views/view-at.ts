import type { PageOptions } from "../board/page-options.ts";
import { actionView, machineView, notFound } from "./details.ts";
import { actionList, laneList } from "./lists.ts";
import { overview } from "./overview.ts";
import { queryOf } from "./query.ts";
import type { View } from "./view.ts";

/** The view at an address of the status page. */
export function viewAt(url: URL, options: PageOptions): View {
  const query = queryOf(url);
  const [, kind = "", name, ...rest] = url.pathname.split("/").map(decoded);
  if (rest.length === 0 && name !== undefined) {
    const view =
      kind === "machines"
        ? machineView(name, options)
        : kind === "actions"
          ? actionView(name, options)
          : undefined;
    return (
      view ??
      notFound(
        `There is no ${kind === "machines" ? "machine" : "action"} ${name}, or it is no longer kept here.`,
      )
    );
  }
  if (name !== undefined) return notFound("There is no such page.");
  switch (kind) {
    case "":
      return overview(query, options);
    case "actions":
      return actionList(query, options);
    case "lanes":
      return laneList(query, options);
    default:
      return notFound("There is no such page.");
  }
}

/** Decodes a part of a path; invalid encoding stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
