import { badRequest } from "./failure.ts";
import { isObject, type KubeObject } from "./object.ts";

export type Matches = (object: KubeObject) => boolean;

/** Parses the label and field selectors of a query. */
export function parseSelectors(query: URLSearchParams): Matches {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
  return (object) => labels(object) && fields(object);
}

/** Parses `key`, `!key`, `key=value`, `key!=value`, `key in (a,b)` and `key notin (a,b)`, which must all match. */
export function parseLabelSelector(text: string): Matches {
  const requirements = text
    .split(/,(?![^()]*\))/)
    .filter((part) => part !== "")
    .map(parseRequirement);
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}));
}

/** Returns the only name that a field selector matches, which the `resourceNames` of RBAC may allow. */
export function nameInFieldSelector(text: string): string | undefined {
  return /(?:^|,)metadata\.name=([^,]+)/.exec(text)?.[1];
}

function parseFieldSelector(text: string): Matches {
  const checks = text
    .split(",")
    .filter((term) => term !== "")
    .map((term): Matches => {
      const [field = "", value] = term.split("=");
      if (value === undefined) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
      return (object) => fieldOf(object, field) === value;
    });
  return (object) => checks.every((holds) => holds(object));
}

function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const part of path.split(".")) value = isObject(value) ? value[part] : undefined;
  return value === undefined ? "" : String(value);
}

type Holds = (labels: Readonly<Record<string, string>>) => boolean;

function parseRequirement(text: string): Holds {
  const [, not, key = "", operator, value = "", list = ""] =
    /^(!?)([^\s!=()]+)(?:(=|!=)([^\s!=()]*)|\s+(?:in|notin)\s*\(([^()]*)\))?$/.exec(text.trim()) ?? [];
  if (key === "") throw badRequest(`unable to parse requirement: found '${text}'`);
  const values = list === "" ? [value] : list.split(",").map((one) => one.trim());
  if (operator === undefined && list === "") return (labels) => key in labels === (not === "");
  const excludes = operator === "!=" || / notin /.test(text);
  return (labels) => values.includes(labels[key] ?? "") !== excludes;
}
