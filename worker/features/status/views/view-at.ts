import type { PageOptions } from "../board/page-options.ts";
import { actionView, notFound } from "./details.ts";
import { actionList, laneList, machineList } from "./lists.ts";
import { machineView } from "./machine.ts";
import { overview } from "./overview.ts";
import { queryOf } from "./query.ts";
import type { View } from "./view.ts";
import { workflowView } from "./workflow.ts";

const LISTS = new Map([
  ["", overview],
  ["actions", actionList],
  ["machines", machineList],
  ["lanes", laneList],
]);

const ONE = new Map([
  ["actions", { what: "action", view: actionView }],
  ["machines", { what: "machine", view: machineView }],
  ["workflows", { what: "workflow", view: workflowView }],
]);

/** The view at an address of the status page. */
export function viewAt(url: URL, options: PageOptions): View {
  const [, kind = "", ...rest] = url.pathname.split("/").map(decoded);
  // The ID of a workflow has a slash.
  const name = rest.join("/");
  const one = name === "" ? undefined : ONE.get(kind);
  if (one) {
    const gone = `There is no ${one.what} ${name}, or it is no longer kept here.`;
    return one.view(name, options) ?? notFound(gone);
  }
  const list = rest.length === 0 ? LISTS.get(kind) : undefined;
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
