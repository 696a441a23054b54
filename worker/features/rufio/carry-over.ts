import { z } from "zod";
import { canonical } from "./rufio-kinds.ts";

type Fields = Readonly<Record<string, unknown>>;

const Port = z.looseObject({ portID: z.string().optional(), mac: z.string().optional() });
const Adapter = z.looseObject({ ports: z.array(Port).optional() });
type Adapter = z.infer<typeof Adapter>;
const Adapters = z.catch(z.array(Adapter), []);
const ADAPTERS = "networkInterfaces";

/** The fields that identify a part of a list, the most reliable first. */
const IDENTITIES = ["serialNumber", "wwn", "mac", "slot", "portID", "description"];

/**
 * Merges a new reading into `outOfBand`, because a server-side apply removes every field of ours that it lacks. A reading may
 * lack what Rufio or an earlier reading had found: another provider may have answered, or a collection may have been
 * unreadable. A part is removed only if its list was read completely: `complete` has the paths of such lists, such as
 * `cpu.sockets`.
 */
export function carriedOver(before: Fields, read: Fields, complete: readonly string[]): Fields {
  const gone = complete.map((place) => place.split(".")).filter((place) => !isAt(read, place));
  const kept = gone.reduce(without, before);
  const { [ADAPTERS]: _, ...others } = merged(kept, read, complete);
  const adapters = networkInterfaces(before[ADAPTERS], read[ADAPTERS], complete.includes(ADAPTERS));
  return { ...others, ...(adapters.length > 0 ? { [ADAPTERS]: adapters } : {}) };
}

function isAt(fields: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return fields !== undefined;
  return isFields(fields) && isAt(fields[name], rest);
}

/** Removes the field at a path, and parents that become empty. */
function without(fields: Fields, [name = "", ...rest]: readonly string[]): Fields {
  const { [name]: value, ...others } = fields;
  const inner = rest.length > 0 && isFields(value) ? without(value, rest) : {};
  return Object.keys(inner).length > 0 ? { ...fields, [name]: inner } : others;
}

function merged(before: Fields, read: Fields, complete: readonly string[] = [], path = ""): Fields {
  const entries = Object.entries(read).map(
    ([name, value]) => [name, mergedValue(before[name], value, complete, `${path}${name}`)] as const,
  );
  return { ...before, ...Object.fromEntries(entries) };
}

function mergedValue(before: unknown, read: unknown, complete: readonly string[], path: string): unknown {
  if (Array.isArray(read)) {
    return Array.isArray(before) ? mergedList(before, read, complete.includes(path)) : read;
  }
  return isFields(before) && isFields(read) ? merged(before, read, complete, `${path}.`) : read;
}

/** Returns the known parts that an incomplete list lacks, then the parts that were read, with what else is known about each. */
function mergedList(
  before: readonly unknown[],
  read: readonly unknown[],
  isComplete: boolean,
): readonly unknown[] {
  const known = read.map((part, index) => earlierReadingOf(part, index, before, read.length));
  const others = isComplete ? [] : before.filter((one) => !known.includes(one));
  return [
    ...others,
    ...read.map((part, index) => {
      const one = known[index];
      return isFields(one) && isFields(part) ? merged(one, part) : part;
    }),
  ];
}

/** Finds the part in the earlier list. Parts without an identity keep their positions if the list is as long as before. */
function earlierReadingOf(part: unknown, index: number, before: readonly unknown[], count: number): unknown {
  const here = before[index];
  if (isSamePart(here, part)) return here;
  const found = before.find((one) => isSamePart(one, part));
  if (found !== undefined || before.length !== count || isOtherPart(here, part)) return found;
  return here;
}

function isSamePart(one: unknown, other: unknown): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  const identity = IDENTITIES.find((name) => one[name] !== undefined && other[name] !== undefined);
  if (identity !== undefined) return one[identity] === other[identity];
  return Object.entries(other).every(([name, value]) => canonical(one[name]) === canonical(value));
}

/** Whether an identity proves that two parts are different. */
function isOtherPart(one: unknown, other: unknown): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  return ["serialNumber", "wwn", "mac"].some(
    (name) => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name],
  );
}

/**
 * Merges network ports. Rufio groups ports by adapter; this project does not read adapters, so it keeps the known ones and
 * updates their ports. Other ports are written without an adapter.
 */
function networkInterfaces(before: unknown, read: unknown, isComplete: boolean): readonly unknown[] {
  const known = Adapters.parse(before);
  const ports = portsOf(Adapters.parse(read));
  const adapters = known.filter(isAdapter).map((adapter) => ({
    ...adapter,
    ports: adapter.ports?.map((port) => merged(port, ports.find((one) => isSamePart(port, one)) ?? {})),
  }));
  const inAdapters = portsOf(adapters);
  const others = ports.filter((port) => !inAdapters.some((one) => isSamePart(one, port)));
  const alone = portsOf(known.filter((one) => !isAdapter(one)));
  return [...adapters, ...mergedList(alone, others, isComplete).map((port) => ({ ports: [port] }))];
}

function portsOf(all: readonly Adapter[]) {
  return all.flatMap(({ ports = [] }) => ports);
}

function isAdapter(found: Adapter): boolean {
  return Object.keys(found).some((name) => name !== "ports");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
