import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from "yaml";
import { composeYaml } from "../../../shared/document/compose-yaml.ts";

/** What to write into the `tls` map of a machine. */
export interface Pin {
  readonly machine: string;
  readonly fingerprint: string;
  /** Whether the inventory says `verify: false`, which would conflict with a fingerprint. */
  readonly verifies: boolean;
}

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Keyed {
  readonly pair: Pair;
  readonly start: number;
}

/** The error for an inventory in a form that this module cannot edit. */
export class EditError extends Error {
  override readonly name = "EditError";
}

/**
 * Writes fingerprints into the text of a valid inventory. Changes only their places in the text, because printing the parsed
 * document would rewrap comments and lists. Throws an `EditError` if the result would mean anything else.
 */
export function editFingerprints(text: string, pins: readonly Pin[]): string {
  const before = composeYaml(text).document;
  const machines = before.get("machines");
  const wanted = new Map(pins.map((pin) => [pin.machine, pin]));
  const splices: Splice[] = [];
  for (const item of isSeq(machines) ? machines.items : []) {
    const pin = isMap(item) ? wanted.get(String(item.get("name"))) : undefined;
    if (pin) splices.push(...splicesFor(item as YAMLMap, pin, text));
  }
  const after = splices
    .toSorted((one, other) => other.from - one.from)
    .reduce((edited, { from, to, text: added }) => edited.slice(0, from) + added + edited.slice(to), text);
  if (!isDeepStrictEqual(plainValue(after), pinnedValue(text, wanted))) {
    throw new EditError(
      "it is written in a way that cannot be edited, such as with aliases: edit it by hand",
    );
  }
  return after;
}

function splicesFor(machine: YAMLMap, { fingerprint, verifies }: Pin, text: string): readonly Splice[] {
  const values = [["fingerprint", `"${fingerprint}"`], ...(verifies ? [] : [["verify", "true"]])] as const;
  const tls = keyed(machine, "tls")?.pair.value;
  if (!isMap(tls)) return tlsSplices(machine, tls, values, text);
  const present = values.flatMap(([key = "", value = ""]) => {
    const node = keyed(tls, key)?.pair.value;
    return isScalar(node) ? [replacing(node, value)] : [];
  });
  const missing = values.filter(([key = ""]) => !isScalar(keyed(tls, key)?.pair.value));
  return missing.length === 0 ? present : [...present, insertedFirst(tls, missing, text)];
}

type Values = readonly (readonly string[])[];

/** Inserts text before the first key of the map. */
function insertedFirst(tls: YAMLMap, values: Values, text: string): Splice {
  const [first] = tls.items;
  const start = first ? startOf(first.key) : (tls.range?.[0] ?? 0) + 1;
  const separator = tls.flow ? ", " : lineEnd(text) + indentAt(text, start);
  const added = values.map((pair) => pair.join(": ")).join(separator);
  return { from: start, to: start, text: first ? added + separator : added };
}

/** Adds a `tls` map after the host, or replaces one without a value. */
function tlsSplices(machine: YAMLMap, tls: unknown, values: Values, text: string): readonly Splice[] {
  const map = `{${values.map((pair) => pair.join(": ")).join(", ")}}`;
  if (isScalar(tls)) {
    const { from, to } = replacing(tls, map);
    return [{ from, to, text: from === to ? ` ${map}` : map }];
  }
  const host = keyed(machine, "host");
  const node = host?.pair.value;
  if (!host || !isScalar(node)) return [];
  const end = replacing(node, "").to;
  if (machine.flow) return [{ from: end, to: end, text: `, tls: ${map}` }];
  const lineBreak = text.indexOf("\n", end);
  const line = `${indentAt(text, host.start)}tls: ${map}`;
  const at = lineBreak < 0 ? text.length : lineBreak + 1;
  return [{ from: at, to: at, text: lineBreak < 0 ? lineEnd(text) + line : line + lineEnd(text) }];
}

function keyed(map: YAMLMap, name: string): Keyed | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name);
  return pair && { pair, start: startOf(pair.key) };
}

function startOf(node: unknown): number {
  return (node as Node).range?.[0] ?? 0;
}

function replacing({ range }: Node, text: string): Splice {
  const [from = 0, to = 0] = range ?? [];
  return { from, to, text };
}

function indentAt(text: string, offset: number): string {
  return " ".repeat(offset - (text.lastIndexOf("\n", offset - 1) + 1));
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** Returns the document's value, in which every alias is a copy, so that a change to one does not change the others. */
function plainValue(text: string): unknown {
  const { document } = composeYaml(text);
  return document.errors.length > 0 ? undefined : JSON.parse(JSON.stringify(document.toJS()));
}

function pinnedValue(text: string, pins: ReadonlyMap<string, Pin>): unknown {
  const value = plainValue(text) as { machines: { name: string; tls?: object | null }[] };
  for (const machine of value.machines) {
    const pin = pins.get(machine.name);
    if (!pin) continue;
    const { fingerprint, verifies } = pin;
    machine.tls = { ...machine.tls, fingerprint, ...(verifies ? {} : { verify: true }) };
  }
  return value;
}
