import { basename } from "node:path";
import { isMap, isNode, isScalar, LineCounter, type Node, type Pair, type YAMLMap } from "yaml";
import { textOf } from "../text-of.ts";
import { type ComposedYaml, composeYaml } from "./compose-yaml.ts";
import { byLine, type Checked, type Problem } from "./problem.ts";

/** The value of a YAML file, with the line of each part. */
export interface YamlDocument {
  readonly path: string;
  readonly value: unknown;
  /** The line of the value at `path`, or of its nearest existing parent, such as `inventory.yaml:12`. */
  sourceOf(path: readonly PropertyKey[]): string;
}

/** The maximum uses of each alias, so that a few lines cannot expand to millions of values. */
const MOST_USES_OF_ALIAS = 100;
/** The maximum number of aliases, each of which may cost a walk through the whole document. */
const MOST_ALIASES = 1_000;
const TOO_DEEP = "is nested too deeply";

/** Parses YAML 1.2. Syntax errors, repeated keys and unknown tags are problems with their lines. */
export function parseYaml(path: string, text: string): Checked<YamlDocument> {
  const lines = new LineCounter();
  const at = (offset: number): string => `${basename(path)}:${lines.linePos(offset).line}`;
  const refused = (message: string) =>
    ({ ok: false, problems: [{ source: basename(path), message }] }) as const;
  let composed: ComposedYaml;
  try {
    composed = composeYaml(text, lines);
  } catch (thrown) {
    if (thrown instanceof RangeError) return refused(TOO_DEEP);
    throw thrown;
  }
  const { document, repeatedKeys, complexKeys, aliases } = composed;
  const problems: Problem[] = [
    ...[...document.errors, ...document.warnings].map(({ pos, message }) => ({
      source: at(pos[0]),
      message: withoutContent(message),
    })),
    ...repeatedKeys.map((offset) => ({ source: at(offset), message: "map keys must be unique" })),
    ...complexKeys.map((offset) => ({ source: at(offset), message: "a key must be text" })),
  ];
  if (problems.length > 0) return { ok: false, problems: byLine(problems) };
  if (aliases.size > MOST_ALIASES) return refused(`has more than ${MOST_ALIASES} aliases`);

  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_USES_OF_ALIAS });
  } catch (thrown) {
    if (thrown instanceof RangeError) return refused(TOO_DEEP);
    return refused(withoutContent(textOf(thrown)));
  }
  const pairs = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();
  const sourceOf = (keys: readonly PropertyKey[]): string => {
    const offset = offsetOf(document.contents, keys, pairs);
    return offset === undefined ? basename(path) : at(offset);
  };
  return { ok: true, value: { path, value, sourceOf }, warnings: [] };
}

/**
 * Follows `keys` as far as they exist. The position of a map's entry is that of its key. `known` caches the pairs of maps by
 * key.
 */
function offsetOf(
  root: Node | null,
  keys: readonly PropertyKey[],
  known: WeakMap<YAMLMap, ReadonlyMap<string, Pair>>,
): number | undefined {
  let node: unknown = root;
  let offset = root?.range?.[0];
  for (const key of keys) {
    if (isMap(node)) {
      const pairs = known.get(node) ?? pairsOf(node);
      known.set(node, pairs);
      const pair = pairs.get(String(key));
      if (!pair) break;
      node = pair.value;
      offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
    } else if (node && typeof node === "object" && "items" in node && Array.isArray(node.items)) {
      node = node.items[Number(key)];
      if (!isNode(node)) break;
      offset = node.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
  return new Map(map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : "", pair]));
}

/** Messages in which the parser quotes the file, with their replacements. */
const QUOTING: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^Unresolved alias/, "unresolved alias: put text that begins with * in quotes"],
  [/\btags?\b/, "unresolved tag: put text that begins with ! in quotes"],
  [/directive/, "unknown directive: put text that begins with % in quotes"],
  [/^Block scalar header/, "a block of text has more than | or > in its first line: put it in quotes"],
  [/^Invalid escape sequence/, "invalid escape sequence: put text with backslashes in single quotes"],
];

/** Replaces messages that quote the file, because a password that was pasted into it may begin with any of these characters. */
function withoutContent(message: string): string {
  const known = QUOTING.find(([pattern]) => pattern.test(message));
  return known ? known[1] : lowerFirst(message.replace(/: .*$/s, ""));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
