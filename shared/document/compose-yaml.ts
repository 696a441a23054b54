import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  type LineCounter,
  type Node,
  Parser,
  type YAMLMap,
  YAMLParseError,
} from "yaml";

/** The nodes of a YAML document, with facts that the YAML package itself finds only in quadratic time. */
export interface ComposedYaml {
  readonly document: Document.Parsed;
  /** Offsets of keys that are repeated in their map. */
  readonly repeatedKeys: readonly number[];
  /** Offsets of keys that are maps or lists. */
  readonly complexKeys: readonly number[];
  /** The node that each alias refers to; absent for an alias without an earlier anchor. */
  readonly aliases: ReadonlyMap<Alias, Node>;
}

/** The maximum number of syntax errors that are kept. */
const MOST_FAULTS = 100;
/** The YAML package is recursive and has no limit: it throws a RangeError, or reports the one that it caught. */
const CAUGHT_OVERFLOW = /stack overflow|call stack/i;

/**
 * Parses YAML 1.2 in linear time. Keys and aliases are only checked in a document without syntax errors. Throws a
 * `RangeError` if the document is nested too deeply.
 */
export function composeYaml(text: string, lineCounter?: LineCounter): ComposedYaml {
  const document = documentOf(text, lineCounter);
  const overflow = document.errors.find(({ message }) => CAUGHT_OVERFLOW.test(message));
  if (overflow) throw new RangeError(overflow.message);
  const repeatedKeys: number[] = [];
  const complexKeys: number[] = [];
  const aliases = new Map<Alias, Node>();
  const anchors = new Map<string, Node>();
  const pending: unknown[] = document.errors.length > 0 ? [] : [document.contents];
  while (pending.length > 0) {
    const item = pending.pop();
    if (isPair(item)) pending.push(item.value, item.key);
    else if (isAlias(item)) {
      const target = anchors.get(item.source);
      if (target) aliases.set(item, target);
    } else if (isScalar(item) || isCollection(item)) {
      if (item.anchor !== undefined) anchors.set(item.anchor, item);
      if (isMap(item)) checkKeys(item, repeatedKeys, complexKeys);
      // In the order of the document, because an alias refers to the last anchor before it.
      if (isCollection(item)) for (const child of item.items.toReversed()) pending.push(child);
    }
  }
  return { document, repeatedKeys, complexKeys, aliases };
}

/**
 * Parses like the YAML package's `parseDocument`, but keeps a limited number of errors, each of which costs as much as a
 * hundred characters.
 */
function documentOf(text: string, lineCounter: LineCounter | undefined): Document.Parsed {
  const options = { prettyErrors: false, uniqueKeys: false, ...(lineCounter && { lineCounter }) };
  const tokens = withFewFaults(new Parser(lineCounter?.addNewLine).parse(text));
  const [first, second] = new Composer(options).compose(tokens, true, text.length);
  if (!first) throw new Error("a document is composed also of nothing");
  if (second) {
    const [start, end] = second.range;
    first.errors.push(
      new YAMLParseError([start, end], "MULTIPLE_DOCS", "Source contains multiple documents"),
    );
  }
  return first;
}

function* withFewFaults(tokens: Iterable<CST.Token>): Generator<CST.Token> {
  let faults = 0;
  for (const token of tokens) {
    if (token.type === "error") faults += 1;
    if (token.type !== "error" || faults <= MOST_FAULTS) yield token;
  }
}

function checkKeys(map: YAMLMap, repeated: number[], complex: number[]): void {
  const known = new Set<unknown>();
  for (const { key } of map.items) {
    if (isScalar(key)) {
      if (known.has(key.value)) repeated.push(key.range?.[0] ?? 0);
      known.add(key.value);
    } else if (isCollection(key)) complex.push(key.range?.[0] ?? 0);
  }
}
