import {
  $ZodArray,
  $ZodDefault,
  type $ZodIssue,
  $ZodObject,
  $ZodOptional,
  $ZodPipe,
  $ZodPrefault,
  type $ZodType,
  type util,
} from "zod/v4/core";
import { count } from "../count.ts";
import { nearestName, suggestion } from "../nearest-name.ts";

/** One problem of a parsed value: its path, and a sentence without a subject. */
export interface ValueProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Messages for keys that are rejected for a special reason, by key. */
export type RefusedKeys = Readonly<Record<string, string>>;

/**
 * The problems that a schema finds in `value`, in this project's words. They never quote the value, which may be a secret in
 * the wrong place, but only describe what it should be.
 */
export function valueProblems(
  schema: $ZodType,
  value: unknown,
  issues: readonly $ZodIssue[],
  refused: RefusedKeys = {},
): readonly ValueProblem[] {
  const problems: ValueProblem[] = [];
  const meant = new Set<string>();
  let more = 0;
  for (const issue of issues) {
    const room = MOST_PROBLEMS - problems.length;
    if (issue.code !== "unrecognized_keys") {
      if (room > 0)
        problems.push({ path: issue.path, message: sentenceOf(issue, valueAt(value, issue.path)) });
      else more += 1;
      continue;
    }
    const known = keysAt(schema, issue.path);
    for (const key of issue.keys.slice(0, room)) {
      const nearest = refused[key] === undefined ? nearestName(key, known) : undefined;
      if (nearest !== undefined) meant.add(placeOf([...issue.path, nearest]));
      const message = refused[key] ?? `is not known${suggestion(key, known)}`;
      problems.push({ path: [...issue.path, key], message });
    }
    more += Math.max(0, issue.keys.length - room);
  }
  // A misspelt key is not missing as well.
  const kept = problems.filter(({ path, message }) => message !== MISSING || !meant.has(placeOf(path)));
  return more === 0 ? kept : [...kept, { path: [], message: `has ${count(more, "more problem")}` }];
}

const MOST_PROBLEMS = 1_000;
const MISSING = "is missing";

function placeOf(path: readonly PropertyKey[]): string {
  return path.map(String).join("\0");
}

/** The beginnings of the schema library's own messages. Messages of this project's schemas are kept. */
const GENERATED = /^(Invalid|Too (small|big)|Unrecognized)/;

function sentenceOf(issue: $ZodIssue, value: unknown): string {
  if (value === undefined || value === null) return MISSING;
  if (!GENERATED.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "string" && typeof value !== "object") return "must be text: put it in quotes";
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${typeName(value)}`;
    case "invalid_value":
      return oneOf(issue.values, value);
    case "invalid_union": {
      const values = issue.errors
        .flat()
        .flatMap((error) => (error.code === "invalid_value" ? error.values : []));
      return values.length > 0 ? oneOf(values, value) : issue.message;
    }
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return "is empty";
      return `must be ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}`;
    case "too_big": {
      const unit = issue.origin === "string" ? " characters" : "";
      return `must be ${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit}`;
    }
    default:
      return issue.message;
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map of keys",
};

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return TYPE_NAMES[typeof value] ?? typeof value;
}

function oneOf(values: readonly util.Primitive[], value: unknown): string {
  const names = values.map(String);
  if (names.length === 1) return `must be ${names.join()}`;
  return `must be one of ${names.join(", ")}${typeof value === "string" ? suggestion(value, names) : ""}`;
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    // The list was given as one text.
    if (typeof current === "string" && typeof key === "number") return current;
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** The keys that an object schema has at `path`; none if the path leads to anything else. */
function keysAt(schema: $ZodType, path: readonly PropertyKey[]): readonly string[] {
  let current: $ZodType | undefined = unwrap(schema);
  for (const key of path) {
    if (current instanceof $ZodArray) current = unwrap(current._zod.def.element);
    else if (current instanceof $ZodObject) {
      const field: $ZodType | undefined = current._zod.def.shape[String(key)];
      current = field && unwrap(field);
    } else return [];
  }
  return current instanceof $ZodObject ? Object.keys(current._zod.def.shape) : [];
}

function unwrap(schema: $ZodType): $ZodType {
  if (schema instanceof $ZodPipe) return unwrap(schema._zod.def.in);
  if (schema instanceof $ZodOptional || schema instanceof $ZodDefault || schema instanceof $ZodPrefault) {
    return unwrap(schema._zod.def.innerType);
  }
  return schema;
}
