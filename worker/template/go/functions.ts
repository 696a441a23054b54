import { createHash } from "node:crypto";
import { isIPv4 } from "node:net";
import { RE2JS } from "re2js";
import { parse, stringify } from "yaml";
import {
  isList,
  isMap,
  isTrue,
  plainValue,
  printed,
  RenderProblem,
  sortedKeys,
  type Value,
  type ValueMap,
} from "./value.ts";

type GoFunction = (...given: readonly Value[]) => Value;

/** The maximum number of repetitions, because a loop must end. No template needs more. */
const LONGEST = 100_000;

const text = (value: Value): string => {
  if (typeof value !== "string") throw new RenderProblem(`${printed(value)} is no text`);
  return value;
};
/** Converts a value to text like Sprig's strval: nil is empty. */
const asText = (value: Value): string => (value === null || value === undefined ? "" : printed(value));
const int = (value: Value): bigint => {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "string" && /^[+-]?\d{1,18}$/.test(value) ? BigInt(value) : 0n;
};
const size = (value: Value): number => {
  const number = Number(int(value));
  if (Math.abs(number) > LONGEST) throw new RenderProblem(`${number} is too large`);
  return number;
};
const list = (value: Value): readonly Value[] => {
  if (!isList(value)) throw new RenderProblem(`${printed(value)} is no list`);
  return value;
};
const map = (value: Value): ValueMap => {
  if (!isMap(value)) throw new RenderProblem(`${printed(value)} is no map`);
  return value;
};
const entry = (value: Value, key: string): Value =>
  isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
const bounded = (value: string): string => {
  if (value.length > 10 * LONGEST) throw new RenderProblem("the text is too long");
  return value;
};

function compare(a: Value, b: Value): number {
  if (typeof a !== typeof b || (typeof a !== "string" && typeof a !== "bigint" && typeof a !== "number")) {
    throw new RenderProblem(`incompatible types for comparison: ${printed(a)} and ${printed(b)}`);
  }
  const [left, right] = [a, b as typeof a];
  return left < right ? -1 : left > right ? 1 : 0;
}

function equal(a: Value, b: Value): boolean {
  if (isEmptyNil(a) || isEmptyNil(b)) return isEmptyNil(a) && isEmptyNil(b);
  if (typeof a === "boolean" && typeof b === "boolean") return a === b;
  return compare(a, b) === 0;
}

const isEmptyNil = (value: Value): boolean => value === null || value === undefined;

function index(from: Value, ...keys: readonly Value[]): Value {
  return keys.reduce<Value>((inner, key) => {
    if (isList(inner)) {
      const at = Number(int(key));
      if (at < 0 || at >= inner.length) throw new RenderProblem(`index out of range: ${at}`);
      return inner[at];
    }
    if (typeof inner === "string") return BigInt(Buffer.from(inner)[Number(int(key))] ?? 0);
    if (isMap(inner)) return entry(inner, text(key)) ?? "";
    throw new RenderProblem(`${printed(inner)} has no entries`);
  }, from);
}

const slice: GoFunction = (from, first = 0n, last) => {
  const [start, end] = [Number(int(first)), last === undefined ? undefined : Number(int(last))];
  return typeof from === "string" ? from.slice(start, end) : list(from).slice(start, end);
};

const length = (value: Value): number => {
  if (typeof value === "string") return Buffer.byteLength(value);
  return isList(value) ? value.length : Object.keys(map(value)).length;
};

/** Joins operands, with a space between two of which neither is text. */
function print(values: readonly Value[]): string {
  return values
    .map((value, at) => {
      const isApart = at > 0 && typeof value !== "string" && typeof values[at - 1] !== "string";
      return (isApart ? " " : "") + printed(value);
    })
    .join("");
}

function printf(format: Value, values: readonly Value[]): string {
  let at = 0;
  return text(format).replace(
    /%([-+ 0#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g,
    (whole, flags, width, digits, verb) => {
      if (verb === "%") return "%";
      const value = values[at];
      at += 1;
      const shown = formatted(verb, value, digits, whole);
      const pad = flags.includes("0") && !flags.includes("-") && /[dxX]/.test(verb) ? "0" : " ";
      const wide = Math.min(Number(width ?? 0), LONGEST);
      return flags.includes("-") ? shown.padEnd(wide) : shown.padStart(wide, pad);
    },
  );
}

function formatted(verb: string, value: Value, digits: string | undefined, whole: string): string {
  switch (verb) {
    case "s":
    case "v":
    case "t":
      return digits === undefined || verb === "t" ? printed(value) : printed(value).slice(0, Number(digits));
    case "d":
      return int(value).toString();
    case "q":
      return JSON.stringify(asText(value));
    case "x":
    case "X": {
      const hex = typeof value === "string" ? Buffer.from(value).toString("hex") : int(value).toString(16);
      return verb === "X" ? hex.toUpperCase() : hex;
    }
    case "f":
      return Number(value).toFixed(Math.min(Number(digits ?? 6), 100));
    default:
      throw new RenderProblem(`${whole} of printf is not rendered here`);
  }
}

function dig(given: readonly Value[]): Value {
  const keys = given.slice(0, -2).map(text);
  let inner = given.at(-1);
  for (const key of keys) {
    inner = entry(inner, key);
    if (inner === undefined) return given.at(-2);
  }
  return inner;
}

function goJson(value: Value, indent?: number): string {
  const plain = (inner: Value): unknown => {
    if (typeof inner === "bigint") return Number(inner);
    if (isList(inner)) return inner.map(plain);
    if (isMap(inner)) return Object.fromEntries(sortedKeys(inner).map((key) => [key, plain(inner[key])]));
    return inner ?? null;
  };
  return JSON.stringify(plain(value), undefined, indent).replace(/[<>&]/g, (character) => {
    return `\\u00${character.charCodeAt(0).toString(16)}`;
  });
}

function yamlOf(value: Value): string {
  return stringify(JSON.parse(goJson(value)), {
    lineWidth: 0,
    indentSeq: false,
    sortMapEntries: true,
  }).trimEnd();
}

const fromText =
  (read: (given: string) => unknown) =>
  (given: Value): Value => {
    try {
      return plainValue(read(text(given)));
    } catch (thrown) {
      if (thrown instanceof RenderProblem) throw thrown;
      throw new RenderProblem("the text cannot be read");
    }
  };

const regex = (pattern: Value) => {
  try {
    return RE2JS.compile(text(pattern));
  } catch {
    throw new RenderProblem(`${printed(pattern)} is no regular expression`);
  }
};

const title = (given: string): string =>
  given.replace(/(^|\s)(\S)/g, (_, space, first) => space + first.toUpperCase());
const indented = (spaces: Value, given: Value): string => {
  const pad = " ".repeat(Math.max(0, size(spaces)));
  return bounded(pad + asText(given).replaceAll("\n", `\n${pad}`));
};
const trimmed = (given: string, cutset: string, from: "both" | "start" | "end"): string => {
  const set = new Set(cutset);
  let [start, end] = [0, given.length];
  while (from !== "end" && start < end && set.has(given.charAt(start))) start += 1;
  while (from !== "start" && end > start && set.has(given.charAt(end - 1))) end -= 1;
  return given.slice(start, end);
};
const numbers = (given: readonly Value[], combine: (a: bigint, b: bigint) => bigint): bigint =>
  given.map(int).reduce(combine);
const divided = (a: bigint, b: bigint, by: (a: bigint, b: bigint) => bigint): bigint => {
  if (b === 0n) throw new RenderProblem("division by zero");
  return by(a, b);
};
const until = (from: bigint, to: bigint, step: bigint): readonly bigint[] => {
  const found: bigint[] = [];
  if (step === 0n) return found;
  for (let at = from; step > 0n ? at < to : at > to; at += step) {
    if (found.length >= LONGEST) throw new RenderProblem("the list is too long");
    found.push(at);
  }
  return found;
};
const unique = (given: readonly Value[]): readonly Value[] => {
  const seen = new Set<string>();
  return given.filter((value) => !seen.has(goJson(value)) && seen.add(goJson(value)));
};
const kindOf = (value: Value): string => {
  if (value === null || value === undefined) return "invalid";
  if (isList(value)) return "slice";
  if (isMap(value)) return "map";
  const kinds: Readonly<Record<string, string>> = { bigint: "int", number: "float64", boolean: "bool" };
  return kinds[typeof value] ?? "string";
};
const withEntries = (base: Value, pairs: readonly Value[]): ValueMap => {
  const made: Record<string, Value> = { ...map(base) };
  for (let at = 0; at < pairs.length; at += 2) made[asText(pairs[at])] = pairs[at + 1] ?? "";
  return made;
};
const quoted = (given: readonly Value[], quote: (value: string) => string): string =>
  given
    .filter((value) => !isEmptyNil(value))
    .map((value) => quote(printed(value)))
    .join(" ");

/** The device path of a partition, by the rules of Tinkerbell's controller. */
function formatPartition(device: Value, partition: Value): string {
  const [path, number] = [text(device), int(partition)];
  if (path.startsWith("/dev/disk/")) return `${path}-part${number}`;
  return /\d$/.test(path) ? `${path}p${number}` : `${path}${number}`;
}

function netmaskToPrefixLength(netmask: Value): string {
  const mask = text(netmask);
  if (!isIPv4(mask)) throw new RenderProblem(`invalid netmask format: ${mask}`);
  const bits = mask
    .split(".")
    .map((part) => Number(part).toString(2).padStart(8, "0"))
    .join("");
  return String(/^1*0*$/.test(bits) ? bits.replaceAll("0", "").length : 0);
}

/**
 * Functions of Go's templates, of Tinkerbell's controller, and of Sprig as far as templates use them. `and` and `or` are in
 * the renderer, because they do not evaluate all of their arguments.
 */
export const FUNCTIONS: Readonly<Record<string, GoFunction>> = {
  not: (value) => !isTrue(value),
  eq: (first, ...others) => others.some((other) => equal(first, other)),
  ne: (a, b) => !equal(a, b),
  lt: (a, b) => compare(a, b) < 0,
  le: (a, b) => compare(a, b) <= 0,
  gt: (a, b) => compare(a, b) > 0,
  ge: (a, b) => compare(a, b) >= 0,
  len: (value) => BigInt(length(value)),
  index: (from, ...keys) => index(from, ...keys),
  slice,
  print: (...values) => print(values),
  println: (...values) => `${values.map(printed).join(" ")}\n`,
  printf: (format, ...values) => printf(format, values),

  formatPartition,
  netmaskToPrefixLength,
  toYaml: yamlOf,
  fromYaml: fromText((given) => parse(given)),

  upper: (given) => text(given).toUpperCase(),
  lower: (given) => text(given).toLowerCase(),
  title: (given) => title(text(given)),
  trim: (given) => text(given).trim(),
  trimAll: (cutset, given) => trimmed(text(given), text(cutset), "both"),
  trimPrefix: (prefix, given) =>
    text(given).startsWith(text(prefix)) ? text(given).slice(text(prefix).length) : given,
  trimSuffix: (suffix, given) =>
    text(suffix) !== "" && text(given).endsWith(text(suffix))
      ? text(given).slice(0, -text(suffix).length)
      : given,
  nospace: (given) => text(given).replace(/\s/g, ""),
  trunc: (count, given) =>
    size(count) < 0 ? text(given).slice(size(count)) : text(given).slice(0, size(count)),
  substr: (from, to, given) =>
    text(given).slice(Math.max(0, size(from)), size(to) < 0 ? undefined : size(to)),
  repeat: (count, given) =>
    bounded(
      text(given).repeat(
        Math.max(0, Math.min(size(count), Math.ceil((10 * LONGEST) / Math.max(1, text(given).length)) + 1)),
      ),
    ),
  replace: (old, next, given) => text(given).replaceAll(text(old), () => text(next)),
  contains: (part, given) => text(given).includes(text(part)),
  hasPrefix: (prefix, given) => text(given).startsWith(text(prefix)),
  hasSuffix: (suffix, given) => text(given).endsWith(text(suffix)),
  quote: (...given) => quoted(given, (value) => JSON.stringify(value)),
  squote: (...given) => quoted(given, (value) => `'${value}'`),
  cat: (...given) =>
    given
      .filter((value) => !isEmptyNil(value))
      .map(printed)
      .join(" "),
  indent: (spaces, given) => indented(spaces, given),
  nindent: (spaces, given) => `\n${indented(spaces, given)}`,
  splitList: (separator, given) => text(given).split(text(separator)),
  split: (separator, given) =>
    Object.fromEntries(
      text(given)
        .split(text(separator))
        .map((part, at) => [`_${at}`, part]),
    ),
  join: (separator, given) => (isList(given) ? given.map(asText) : [asText(given)]).join(text(separator)),
  toString: (given: Value) => asText(given),
  toStrings: (given) => list(given).map(asText),
  sortAlpha: (given) => list(given).map(asText).toSorted(),
  b64enc: (given) => Buffer.from(text(given)).toString("base64"),
  b64dec: (given) => Buffer.from(text(given), "base64").toString(),
  sha256sum: (given) => createHash("sha256").update(text(given)).digest("hex"),
  regexMatch: (pattern, given) => regex(pattern).matcher(text(given)).find(),
  regexReplaceAll: (pattern, given, next) => regex(pattern).matcher(text(given)).replaceAll(text(next)),
  regexFind: (pattern, given) => {
    const matcher = regex(pattern).matcher(text(given));
    return matcher.find() ? (matcher.group() ?? "") : "";
  },

  default: (otherwise, given) => (isTrue(given) ? given : otherwise),
  empty: (given) => !isTrue(given),
  coalesce: (...given) => given.find(isTrue),
  all: (...given) => given.every(isTrue),
  any: (...given) => given.some(isTrue),
  ternary: (yes, no, given) => (isTrue(given) ? yes : no),
  fail: (reason) => {
    throw new RenderProblem(asText(reason));
  },

  int: (given) => int(given),
  int64: (given) => int(given),
  float64: (given) => Number(given),
  atoi: (given) => int(given),
  add: (...given) => numbers(given, (a, b) => a + b),
  add1: (given) => int(given) + 1n,
  sub: (a, b) => int(a) - int(b),
  mul: (...given) => numbers(given, (a, b) => a * b),
  div: (a, b) => divided(int(a), int(b), (left, right) => left / right),
  mod: (a, b) => divided(int(a), int(b), (left, right) => left % right),
  max: (...given) => given.map(int).toSorted(compare).at(-1),
  min: (...given) => given.map(int).toSorted(compare).at(0),
  until: (count) => until(0n, int(count), 1n),
  untilStep: (from, to, step) => until(int(from), int(to), int(step)),

  list: (...given) => given,
  first: (given) => list(given)[0],
  last: (given) => list(given).at(-1),
  rest: (given) => list(given).slice(1),
  initial: (given) => list(given).slice(0, -1),
  append: (given, more) => [...list(given), more],
  prepend: (given, more) => [more, ...list(given)],
  concat: (...given) => given.flatMap(list),
  reverse: (given) => list(given).toReversed(),
  uniq: (given) => unique(list(given)),
  has: (needle, given) => list(given ?? []).some((value) => goJson(value) === goJson(needle)),
  without: (given, ...omitted) =>
    list(given).filter((value) => !omitted.some((other) => goJson(other) === goJson(value))),
  compact: (given) => list(given).filter(isTrue),
  dict: (...pairs) => withEntries({}, pairs),
  set: (base, ...pair) => withEntries(base, pair),
  get: (from, key) => entry(map(from), text(key)) ?? "",
  hasKey: (from, key) => entry(map(from), text(key)) !== undefined,
  keys: (...from) => from.flatMap((each) => sortedKeys(map(each))),
  values: (from) => sortedKeys(map(from)).map((key) => map(from)[key]),
  pick: (from, ...keys) =>
    Object.fromEntries(
      keys
        .map(text)
        .filter((key) => Object.hasOwn(map(from), key))
        .map((key) => [key, map(from)[key]]),
    ),
  omit: (from, ...keys) =>
    Object.fromEntries(Object.entries(map(from)).filter(([key]) => !keys.includes(key))),
  dig: (...given) => dig(given),
  kindOf,
  kindIs: (kind, given) => kindOf(given) === kind,
  toJson: (given) => goJson(given),
  toPrettyJson: (given) => goJson(given, 2),
  fromJson: fromText((given) => JSON.parse(given)),
};
