import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Unread } from "../../../operations/unread.ts";
import { Collection, ServiceRoot, System } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import { SERVICE_ROOT } from "./members.ts";
import { readable, throwUnread } from "./unreadable.ts";

export const SYSTEMS = "/redfish/v1/Systems";
/** A message names this many systems at most, and as many are read to compare their `Id`. */
const MOST_NAMED = 16;
const MOST_PAGES = 16;

/** What the caller knows of the system: an option of the user, and a path found earlier. */
export interface Known {
  readonly selector: string | undefined;
  readonly path: string | undefined;
  /** Called when one of several systems was chosen, with the others. */
  readonly onChoice?: ((chosen: string, others: readonly string[]) => void) | undefined;
}

/**
 * Finds the system in as few requests as can be: a known path costs one, the only member of the collection
 * two, without the service root (standard paths, DSP0266 section 6.3). Of several, the one with a reset is chosen. Throws
 * `usage` naming the systems when there are more of them and no selector, or none that fits it.
 */
export async function findSystem(
  service: Service,
  known: Known,
  signal: AbortSignal,
): Promise<Resource<System>> {
  const { selector } = known;
  if (known.path !== undefined) {
    const system = await service.find(known.path, System, signal);
    if (system) return system;
  }
  if (selector !== undefined) {
    const direct = await findDirectly(service, selector, signal);
    if (direct) return direct;
  }
  const { paths: members, isWhole } = await listSystems(service, signal);
  if (selector !== undefined)
    return await selectSystem(service, { paths: members, isWhole }, selector, signal);
  const [only, ...others] = members;
  if (!isWhole) {
    // Another one than those listed may be meant.
    const text = `the BMC counts more systems than it lists, set redfish.system; it lists ${named(members)}`;
    throw new BmcError("usage", text);
  }
  if (only === undefined) throw new BmcError("unsupported", "the BMC lists no system");
  if (others.length > 0) return await chooseSystem(service, members, { signal, onChoice: known.onChoice });
  return await service.get(only, System, signal);
}

/** Accelerator boards are listed as systems beside their host: what cannot be reset is none of those meant. */
async function chooseSystem(
  service: Service,
  members: readonly string[],
  { signal, onChoice }: Pick<Known, "onChoice"> & { readonly signal: AbortSignal },
): Promise<Resource<System>> {
  const several = `the BMC has several systems, set redfish.system to one of ${named(members)}`;
  if (members.length > MOST_NAMED) throw new BmcError("usage", several);
  const systems: Resource<System>[] = [];
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  for (const path of members) {
    const system = await readable({ name: path, unread }, () => service.find(path, System, signal));
    // One that cannot be read could be the one that is meant.
    if (!system) {
      const [why = { reason: "the BMC does not have it" }] = gaps;
      throw new BmcError("usage", `${several}; ${path} cannot be read: ${why.reason}`);
    }
    systems.push(system);
  }
  const resettable = systems.filter(({ value }) => value.Actions?.["#ComputerSystem.Reset"]);
  // A baseboard of GPUs can be reset like its host, and has no boot override.
  const hosts = resettable.filter(({ value }) => value.Boot?.BootSourceOverrideTarget !== undefined);
  const [chosen, ...more] = resettable.length > 1 && hosts.length === 1 ? hosts : resettable;
  if (!chosen || more.length > 0) throw new BmcError("usage", several);
  onChoice?.(
    chosen.path,
    members.filter((path) => path !== chosen.path),
  );
  return chosen;
}

async function findDirectly(
  service: Service,
  selector: string,
  signal: AbortSignal,
): Promise<Resource<System> | undefined> {
  if (selector.startsWith("/")) {
    const path = service.localPath(selector);
    return path === undefined ? undefined : await service.find(path, System, signal);
  }
  // Nearly every service names a member by its Id, which saves reading the collection.
  const system = await service.find(`${SYSTEMS}/${encodeURIComponent(selector)}`, System, signal);
  return system?.value.Id === selector ? system : undefined;
}

async function listSystems(service: Service, signal: AbortSignal): Promise<Listed> {
  let page =
    (await service.find(SYSTEMS, Collection, signal)) ?? (await findCollectionFromRoot(service, signal));
  if (!page) throw new BmcError("unsupported", "the BMC offers no Redfish systems");
  const paths: string[] = [];
  const seen = new Set<string>();
  let counted = 0;
  for (;;) {
    paths.push(...page.value.Members.map((member) => memberPath(service, member["@odata.id"])));
    counted = Math.max(counted, page.value["Members@odata.count"] ?? 0);
    const next = service.localPath(page.value["Members@odata.nextLink"] ?? page.value["@odata.nextLink"]);
    if (next === undefined) break;
    if (seen.has(next) || seen.size === MOST_PAGES) {
      throw new BmcError("protocol", `the BMC's list of systems does not end: ${next} follows itself`);
    }
    seen.add(next);
    page = await service.get(next, Collection, signal);
  }
  return { paths, isWhole: counted <= paths.length };
}

interface Listed {
  readonly paths: readonly string[];
  /** Whether these are as many as the BMC counts. */
  readonly isWhole: boolean;
}

function memberPath(service: Service, link: unknown): string {
  const path = typeof link === "string" ? service.localPath(link) : undefined;
  if (path !== undefined) return path;
  const problem = typeof link === "string" ? `system ${link} is on another host` : "a system has no link";
  throw new BmcError("protocol", problem);
}

async function findCollectionFromRoot(
  service: Service,
  signal: AbortSignal,
): Promise<Resource<Collection> | undefined> {
  const root = await service.find(SERVICE_ROOT, ServiceRoot, signal);
  const path = service.localPath(root?.value.Systems?.["@odata.id"]);
  return path === undefined ? undefined : await service.find(path, Collection, signal);
}

async function selectSystem(
  service: Service,
  { paths: members, isWhole }: Listed,
  selector: string,
  signal: AbortSignal,
): Promise<Resource<System>> {
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  if (!selector.startsWith("/")) {
    const ofThatName: Resource<System>[] = [];
    for (const path of members.slice(0, MOST_NAMED)) {
      const system = await readable({ name: path, unread }, () => service.find(path, System, signal));
      if (system?.value.Id === selector) return system;
      if (system?.value.Name === selector) ofThatName.push(system);
    }
    const [only, ...others] = ofThatName;
    if (only && others.length === 0 && gaps.length === 0 && isWhole) return only;
    throwUnread(gaps, `system ${selector}`);
  }
  if (!isWhole || members.length > MOST_NAMED) {
    const text = `system ${selector} is not among those that can be read, set redfish.system to its path; the BMC lists ${named(members)}`;
    throw new BmcError("usage", text);
  }
  throw new BmcError("usage", `the BMC has no system ${selector}; it has ${named(members)}`);
}

function named(members: readonly string[]): string {
  if (members.length === 0) return "none";
  const rest = members.length - MOST_NAMED;
  return members.slice(0, MOST_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
