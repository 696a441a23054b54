import { basename } from "node:path";
import { isMap, isNode, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import type { Checked, Problem } from "./problem.ts";

/** A YAML file's value, and where in the file each part of it stands. */
export interface YamlDocument {
  readonly path: string;
  readonly value: unknown;
  /** `inventory.yaml:12`: the line of the value at `path`, or of the nearest thing around it that is there. */
  sourceOf(path: readonly PropertyKey[]): string;
}

/** Each alias may be repeated, but not so that a few lines grow to millions of values. */
const MOST_ALIASES = 100;

/** Reads YAML 1.2. Broken syntax, repeated keys and unknown tags are problems with their lines. */
export function parseYaml(path: string, text: string): Checked<YamlDocument> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => `${basename(path)}:${lines.linePos(offset).line}`;
  const problems: Problem[] = [...document.errors, ...document.warnings].map((error) => ({
    source: at(error.pos[0]),
    message: withoutContent(error.message),
  }));
  if (problems.length > 0) return { ok: false, problems };

  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (thrown) {
    const message = withoutContent(thrown instanceof Error ? thrown.message : String(thrown));
    return { ok: false, problems: [{ source: basename(path), message }] };
  }
  const sourceOf = (keys: readonly PropertyKey[]): string => {
    const offset = offsetOf(document.contents, keys);
    return offset === undefined ? basename(path) : at(offset);
  };
  return { ok: true, value: { path, value, sourceOf }, warnings: [] };
}

/** Follows `keys` as far as they lead; a map's entry stands where its key does. */
function offsetOf(root: Node | null, keys: readonly PropertyKey[]): number | undefined {
  let node: unknown = root;
  let offset = root?.range?.[0];
  for (const key of keys) {
    if (isMap(node)) {
      const pair = node.items.find((item) => (isScalar(item.key) ? String(item.key.value) : "") === key);
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

/** What the parser quotes out of the file, and what is to be said in its place. */
const QUOTING: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^Unresolved alias/, "unresolved alias: put text that begins with * in quotes"],
  [/\btags?\b/, "unresolved tag: put text that begins with ! in quotes"],
  [/directive/, "unknown directive: put text that begins with % in quotes"],
  [/^Block scalar header/, "a block of text has more than | or > in its first line: put it in quotes"],
  [/^Invalid escape sequence/, "invalid escape sequence: put text with backslashes in single quotes"],
];

/** Never quotes the file: a password that was pasted into it may begin with any of these characters. */
function withoutContent(message: string): string {
  const known = QUOTING.find(([pattern]) => pattern.test(message));
  return known ? known[1] : lowerFirst(message.replace(/: .*$/s, ""));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
