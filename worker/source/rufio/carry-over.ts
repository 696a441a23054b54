import { z } from "zod";

type Fields = Readonly<Record<string, unknown>>;

const Port = z.looseObject({ portID: z.string().optional(), mac: z.string().optional() });
const Adapter = z.looseObject({ ports: z.array(Port).optional() });
type Adapter = z.infer<typeof Adapter>;
const Adapters = z.array(Adapter);

/** What identifies a part of a list, best first. */
const IDENTITIES = ["serialNumber", "wwn", "mac", "slot", "portID"];

/**
 * `outOfBand` with what was read now, and otherwise as it was. A server-side apply removes every field of ours that it lacks, and so
 * what Rufio or an earlier reading has found and this one has not: another provider may have answered, or a collection may not have
 * been readable. An empty list was therefore not read. Parts that a list which was read lacks are gone.
 */
export function carriedOver(before: Fields, read: Fields): Fields {
  return { ...merged(before, read), ...networkInterfaces(before, read) };
}

function merged(before: Fields, read: Fields): Fields {
  const entries = Object.entries(read).map(
    ([name, value]) => [name, mergedValue(before[name], value)] as const,
  );
  return { ...before, ...Object.fromEntries(entries) };
}

function mergedValue(before: unknown, read: unknown): unknown {
  if (Array.isArray(read)) return Array.isArray(before) ? mergedList(before, read) : read;
  return isFields(before) && isFields(read) ? merged(before, read) : read;
}

function mergedList(before: readonly unknown[], read: readonly unknown[]): readonly unknown[] {
  return read.map((part, index) => {
    // Without an identity, parts of a list that is as long as before are at their places.
    const known =
      before.find((one) => isSamePart(one, part)) ?? (before.length === read.length ? before[index] : {});
    return hasOther(known, part) ? part : mergedValue(known, part);
  });
}

function isSamePart(one: unknown, other: unknown): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  const identity = IDENTITIES.find((name) => one[name] !== undefined && other[name] !== undefined);
  return identity !== undefined && one[identity] === other[identity];
}

/** Whether an identity says that two parts at the same place are different ones. */
function hasOther(one: unknown, other: unknown): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  return ["serialNumber", "wwn", "mac"].some(
    (name) => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name],
  );
}

/**
 * Rufio groups ports by their adapter, which this project does not read: adapters stay, and their ports get what was read of them. Ports
 * of no adapter are as read.
 */
function networkInterfaces(before: Fields, read: Fields): Fields {
  const [known, found] = [
    Adapters.safeParse(before["networkInterfaces"]),
    Adapters.safeParse(read["networkInterfaces"]),
  ];
  if (!known.success || !found.success) return {};
  const ports = found.data.flatMap(({ ports = [] }) => ports);
  const adapters = known.data.filter(isAdapter).map((adapter) => ({
    ...adapter,
    ports: adapter.ports?.map((port) => merged(port, ports.find((one) => isSamePart(port, one)) ?? {})),
  }));
  const inAdapters = adapters.flatMap(({ ports = [] }) => ports);
  const others = found.data.filter(
    ({ ports = [] }) => !ports.some((port) => inAdapters.some((one) => isSamePart(one, port))),
  );
  return {
    networkInterfaces: [
      ...adapters,
      ...mergedList(
        known.data.filter((one) => !isAdapter(one)),
        others,
      ),
    ],
  };
}

function isAdapter(found: Adapter): boolean {
  return Object.keys(found).some((name) => name !== "ports");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
