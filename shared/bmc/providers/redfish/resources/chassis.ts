import * as z from "zod/mini";
import type { Unread } from "../../../operations/unread.ts";
import { lastPart, pathKey, samePath } from "../service/paths.ts";
import { Link, Links, lenient, System } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import type { ReadLimits } from "./members.ts";
import type { Resources } from "./resources.ts";
import type { ManagedSystem } from "./system.ts";
import { readable, throwUnread } from "./unreadable.ts";

const CHASSIS = "/redfish/v1/Chassis";
const SYSTEMS = "/redfish/v1/Systems";
/** The maximum number of chassis to read that the system links to. */
const MOST_LINKED = 4;
/** The largest known number is 47, in a machine with eight accelerators. */
const MOST_CHASSIS = 96;
/** The maximum number of other systems to read in order to find out whether a chassis belongs to them. */
const MOST_SYSTEMS = 16;

/** The chassis that the system links to, one request each. */
export async function* chassisOf<Schema extends z.ZodMiniType>(
  { service, last }: ManagedSystem,
  schema: Schema,
  signal: AbortSignal,
): AsyncGenerator<Resource<z.output<Schema>>> {
  for (const link of (last.value.Links?.Chassis ?? []).slice(0, MOST_LINKED)) {
    const path = service.localPath(link["@odata.id"]);
    const found = path === undefined ? undefined : await service.find(path, schema, signal);
    if (found) yield found;
  }
}

/** The used fields of a Chassis (DSP0268): its references to others and to systems, and its contents. */
export const ChassisResource = z.object({
  Id: lenient(z.string()),
  ChassisType: lenient(z.string()),
  Links: lenient(
    z.object({ ComputerSystems: Links, Contains: Links, ContainedBy: lenient(Link), Drives: Links }),
  ),
  Sensors: lenient(Link),
  Thermal: lenient(Link),
  Power: lenient(Link),
  ThermalSubsystem: lenient(Link),
  PowerSubsystem: lenient(Link),
  Drives: lenient(Link),
  NetworkAdapters: lenient(Link),
});

/** A chassis of the machine, with its references in one spelling. */
export interface Chassis extends Resource<z.infer<typeof ChassisResource>> {
  readonly name: string;
  readonly key: string;
  readonly systems: readonly string[];
  readonly contains: readonly string[];
  readonly containedBy: string | undefined;
}

/** Another machine behind the same BMC. */
interface OtherMachine {
  readonly key: string;
  readonly name: string;
  readonly chassis: readonly string[];
}

/**
 * All chassis of the machine: those that the system links to, that link to the system, that contain these or are contained
 * in them, and those that belong to no other machine. A system that cannot be reset, such as an accelerator board, is a
 * part.
 */
export async function allChassis(
  { system, members }: Pick<Resources, "system" | "members">,
  limits: ReadLimits,
  signal: AbortSignal,
): Promise<readonly Chassis[]> {
  const { service } = system;
  await system.refresh(signal);
  const linked = (system.last.value.Links?.Chassis ?? []).flatMap(
    (link) => service.localPath(link["@odata.id"]) ?? [],
  );
  const most = { ...limits, members: MOST_CHASSIS };
  const listed = await readable({ name: CHASSIS, ...limits }, () =>
    members.read(CHASSIS, ChassisResource, signal, most),
  );
  const unlisted = linked.filter((path) => !listed?.some((one) => samePath(one.path, path)));
  const read = await readEach(service, unlisted.slice(0, MOST_LINKED), ChassisResource, limits, signal);
  const found = [...(listed ?? []), ...read].map(placed);
  const own = ownChassis(found, pathKey(system.path), linked.map(pathKey));
  if (own.length === found.length) return found;
  const others = await readable({ name: SYSTEMS, ...limits }, () =>
    otherMachines({ system, members }, signal),
  );
  // Without all systems, a chassis that nothing links to may belong to another machine.
  if (!others) return own;
  const isTheirs = (one: Chassis) => others.some((other) => isOf(one, other));
  return found.filter((one) => own.includes(one) || ![one, ...containersOf(one, found)].some(isTheirs));
}

async function readEach<T extends z.ZodMiniType>(
  service: Service,
  paths: readonly string[],
  schema: T,
  limits: ReadLimits,
  signal: AbortSignal,
): Promise<readonly Resource<z.output<T>>[]> {
  const found: Resource<z.output<T>>[] = [];
  for (const path of paths) {
    const resource = await readable({ name: path, ...limits }, () => service.find(path, schema, signal));
    if (resource) found.push(resource);
  }
  return found;
}

function placed(resource: Resource<z.infer<typeof ChassisResource>>): Chassis {
  const { Id, Links: links } = resource.value;
  const keys = (all: z.infer<typeof Links> | undefined) =>
    (all ?? []).map((link) => pathKey(link["@odata.id"]));
  const containedBy = links?.ContainedBy?.["@odata.id"];
  return {
    ...resource,
    key: pathKey(resource.path),
    name: Id ?? lastPart(resource.path),
    systems: keys(links?.ComputerSystems),
    contains: keys(links?.Contains),
    containedBy: containedBy === undefined ? undefined : pathKey(containedBy),
  };
}

/** Follows the links in both directions, and adds the containers and contents of these chassis. */
function ownChassis(all: readonly Chassis[], system: string, linked: readonly string[]) {
  const isNamed = ({ key, systems }: Chassis) => linked.includes(key) || systems.includes(system);
  const named = all.filter(isNamed);
  const containers = new Set(named.flatMap((one) => containersOf(one, all)));
  return all.filter(
    (one) =>
      isNamed(one) ||
      (one.systems.length === 0 && (containers.has(one) || containersOf(one, all).some(isNamed))),
  );
}

function containersOf(one: Chassis, all: readonly Chassis[]): readonly Chassis[] {
  const found: Chassis[] = [];
  for (let inner = one; ; ) {
    const { key, containedBy } = inner;
    const outer = all.find((other) => other.key === containedBy || other.contains.includes(key));
    if (outer === undefined || outer === one || found.includes(outer)) return found;
    found.push(outer);
    inner = outer;
  }
}

/** The other systems that can be reset. */
async function otherMachines(
  { system, members }: Pick<Resources, "system" | "members">,
  signal: AbortSignal,
): Promise<readonly OtherMachine[]> {
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  const limits = { members: MOST_SYSTEMS, requests: { left: MOST_SYSTEMS }, unread };
  const listed = (await members.list(SYSTEMS, signal, limits)) ?? [];
  const others = listed.filter(({ path }) => !samePath(path, system.path));
  if (others.length === 0) return [];
  const paths = others.map(({ path }) => path);
  const found = await readEach(system.service, paths, System, limits, signal);
  throwUnread(gaps, "which chassis are other machines'");
  return found
    .filter(({ value }) => value.Actions?.["#ComputerSystem.Reset"] !== undefined)
    .map(({ path, value }) => ({
      key: pathKey(path),
      name: value.Id ?? lastPart(path),
      chassis: (value.Links?.Chassis ?? []).map((link) => pathKey(link["@odata.id"])),
    }));
}

/** Whether a chassis belongs to a system. Without links, it belongs to the system with the same name. */
function isOf({ key, name, systems }: Chassis, other: OtherMachine): boolean {
  return systems.includes(other.key) || other.chassis.includes(key) || name === other.name;
}
