import { badRequest } from "./failure.ts";
import type { KubeObject } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";

export type Matches = (object: KubeObject) => boolean;

const NAME = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Equality and set based requirements, all of which must hold. */
export function parseLabelSelector(text: string): Matches {
  const requirements = splitOutsideBrackets(text).map(requirement);
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}));
}

/** The fields that the kind offers; any other is refused, as the real server does. */
export function parseFieldSelector(text: string, type: ResourceType): Matches {
  const terms = text.split(",").filter((term) => term !== "");
  const supported = ["metadata.name", "metadata.namespace", ...(type.listFields ?? [])];
  const checks = terms.map((term) => {
    const [, field = "", operator, value = ""] = /^([^=!]+)(!=|==|=)(.*)$/.exec(term) ?? [];
    if (operator === undefined) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    if (!supported.includes(field)) throw badRequest(`field label not supported: ${field}`);
    return (object: KubeObject) => (fieldOf(object, field) === value) === (operator !== "!=");
  });
  return (object) => checks.every((holds) => holds(object));
}

/** The one name that a field selector asks for, as authorisation sees it. */
export function nameInFieldSelector(text: string): string | undefined {
  return /(?:^|,)metadata\.name={1,2}([^,]+)/.exec(text)?.[1];
}

function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const part of path.split("."))
    value =
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined;
  return value === undefined ? "" : String(value);
}

type Holds = (labels: Readonly<Record<string, string>>) => boolean;

function requirement(text: string): Holds {
  const set = /^([^\s!,()=]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    checkKey(key);
    for (const value of values) checkValue(key, value);
    return operator === "in"
      ? (labels) => key in labels && values.includes(labels[key] ?? "")
      : (labels) => !(key in labels) || !values.includes(labels[key] ?? "");
  }
  const equality = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$/.exec(text);
  if (equality) {
    const [, key = "", operator, value = ""] = equality;
    checkKey(key);
    checkValue(key, value);
    return operator === "!=" ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const existence = /^(!?)\s*([^\s!=,()]+)$/.exec(text);
  if (!existence) throw badRequest(`unable to parse requirement: found '${text}', expected: identifier`);
  const [, not, key = ""] = existence;
  checkKey(key);
  return (labels) => key in labels === (not === "");
}

function checkKey(key: string): void {
  if (!NAME.test(key))
    throw badRequest(
      `unable to parse requirement: key: Invalid value: ${JSON.stringify(key)}: not a label key`,
    );
}

function checkValue(key: string, value: string): void {
  if (!VALUE.test(value))
    throw badRequest(
      `unable to parse requirement: values[0][${key}]: Invalid value: ${JSON.stringify(value)}: not a label value`,
    );
}

function splitOutsideBrackets(text: string): string[] {
  return text
    .split(/,(?![^()]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
