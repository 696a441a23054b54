import { type Alias, isAlias, isMap, isNode, isScalar, isSeq, type Node, type YAMLMap } from "yaml";
import { oneLine } from "../../shared/contract/result.ts";

/** Records a problem at an offset of the YAML text. */
export type Report = (offset: number, message: string) => void;

/** Thrown when a document uses too many aliases. */
export class TooManyAliases extends Error {
  override readonly name = "TooManyAliases";
}

const MOST_ALIASES = 1_000;

/** Reads a YAML document: follows aliases and collects problems. */
export class Reading {
  readonly report: Report;
  readonly #aliases: ReadonlyMap<Alias, Node>;
  #followed = 0;

  constructor(aliases: ReadonlyMap<Alias, Node>, report: Report) {
    this.#aliases = aliases;
    this.report = report;
  }

  /** The node, or the target of an alias; undefined if there is none, and for null. */
  node(value: unknown): Node | undefined {
    if (isAlias(value)) {
      this.#followed += 1;
      if (this.#followed > MOST_ALIASES) throw new TooManyAliases(`more than ${MOST_ALIASES} aliases`);
      return this.node(this.#aliases.get(value));
    }
    if (isScalar(value)) return value.value === null ? undefined : value;
    return isMap(value) || isSeq(value) ? value : undefined;
  }

  /** A map's fields; undefined, with a problem, if the node is not a map. */
  fields(value: unknown, what: string, parent: number): Fields | undefined {
    const node = this.node(value);
    if (node && isMap(node)) return new Fields(this, node, what);
    this.report(offsetOf(value, parent), `${what} must be a map`);
    return undefined;
  }

  /** A scalar as it was written. Go's YAML also reads `1.10` and `true` into a string this way. */
  text(value: unknown, what: string, parent: number): string {
    const node = this.node(value);
    if (node === undefined) return "";
    if (isScalar(node))
      return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
    this.report(offsetOf(value, parent), `${what} must be text`);
    return "";
  }
}

interface Entry {
  readonly offset: number;
  readonly value: unknown;
}

/** The fields of one map. `end` reports the fields that were not read. */
export class Fields {
  readonly offset: number;
  readonly #reading: Reading;
  readonly #what: string;
  readonly #entries = new Map<string, Entry>();
  readonly #read = new Set<string>();

  constructor(reading: Reading, map: YAMLMap, what: string) {
    this.#reading = reading;
    this.#what = what;
    this.offset = offsetOf(map, 0);
    for (const { key, value } of map.items) {
      const offset = offsetOf(key, this.offset);
      this.#entries.set(reading.text(key, "a field's name", offset), { offset, value });
    }
  }

  /** Reports a problem at a field's value, or at the map if it has no such field. */
  problem(key: string, message: string): void {
    this.#reading.report(this.#valueOffset(key), message);
  }

  /** Required text; undefined, with a problem, if it is missing or empty. */
  text(key: string): string | undefined {
    const text = this.optionalText(key);
    if (text !== undefined) return text;
    const missing = !this.#entries.has(key);
    this.problem(key, missing ? `${this.#what} has no ${key}` : `${key} is empty`);
    return undefined;
  }

  /** Optional text; undefined if the field is missing or empty. */
  optionalText(key: string): string | undefined {
    return this.#reading.text(this.#take(key), key, this.#valueOffset(key)) || undefined;
  }

  /** A number of whole seconds; 0 if the field is missing. */
  seconds(key: string): number {
    const node = this.#reading.node(this.#take(key));
    if (node === undefined) return 0;
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    this.problem(key, `${key} must be a whole number of seconds, 0 or more`);
    return 0;
  }

  texts(key: string): readonly string[] {
    const what = `each item of ${key}`;
    return this.#items(key).map((item) => this.#reading.text(item, what, this.#valueOffset(key)));
  }

  /** A list of at least one map. Other items are reported and left out. */
  maps(key: string, what: string, whenEmpty: string): readonly Fields[] {
    const node = this.#reading.node(this.#take(key));
    if (node === undefined || (isSeq(node) && node.items.length === 0)) this.problem(key, whenEmpty);
    return this.#items(key)
      .map((item) => this.#reading.fields(item, what, this.#valueOffset(key)))
      .filter((fields) => fields !== undefined);
  }

  /** A map; undefined if the field is missing or empty. */
  map(key: string): Fields | undefined {
    const value = this.#take(key);
    if (this.#reading.node(value) === undefined) return undefined;
    return this.#reading.fields(value, key, this.#valueOffset(key));
  }

  /** A map of text to text, such as an environment. */
  textMap(key: string): Readonly<Record<string, string>> {
    const fields = this.map(key);
    if (fields === undefined) return {};
    const pairs = [...fields.#entries.keys()].map((name) => [name, fields.optionalText(name) ?? ""] as const);
    return Object.fromEntries(pairs);
  }

  /** Reports every field that was not read. */
  end(): void {
    for (const [name, { offset }] of this.#entries) {
      if (!this.#read.has(name)) {
        this.#reading.report(offset, `${this.#what} has no field ${JSON.stringify(oneLine(name))}`);
      }
    }
  }

  #items(key: string): readonly unknown[] {
    const node = this.#reading.node(this.#take(key));
    if (node === undefined) return [];
    if (isSeq(node)) return node.items;
    this.problem(key, `${key} must be a list`);
    return [];
  }

  #take(key: string): unknown {
    this.#read.add(key);
    return this.#entries.get(key)?.value;
  }

  #valueOffset(key: string): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? this.offset : offsetOf(entry.value, entry.offset);
  }
}

/** The offset of a node in the YAML text; `otherwise` if the node has none. */
function offsetOf(node: unknown, otherwise: number): number {
  return isNode(node) ? (node.range?.[0] ?? otherwise) : otherwise;
}
