import { BmcError } from "../../../../contract/bmc-error.ts";
import { silentLogger } from "../../../../logger.ts";
import { incompleteList, type Unread } from "../../../operations/unread.ts";
import { ServiceRoot, System } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import { type Member, Members, SERVICE_ROOT } from "./members.ts";
import { readable, throwUnread } from "./unreadable.ts";

export const SYSTEMS = "/redfish/v1/Systems";
/** A message names at most this many systems, and as many are read to compare their `Id`. */
const MOST_NAMED = 16;
const MOST_PAGES = 16;
const MOST_LISTED = 1_024;

/** What is known about the system: an option of the user, and a path that was found earlier. */
export interface Known {
  readonly selector: string | undefined;
  readonly path: string | undefined;
  /** Called with the others when one of several systems was selected. */
  readonly onChoice?: ((chosen: string, others: readonly string[]) => void) | undefined;
}

/**
 * Finds the system with as few requests as possible: a known path costs one, the only member of the collection two, without
 * the service root (standard paths, DSP0266 section 6.3). Of several systems, the one with a reset is selected. Throws
 * `usage` with the systems' names if several remain without a selector, or if none matches it.
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
  const listed = await listSystems(new Members(service, silentLogger, "none"), service, signal);
  const { paths, gaps } = listed;
  if (selector !== undefined) return await selectSystem(service, listed, selector, signal);
  const [only, ...others] = paths;
  // Another system than the listed ones may be meant.
  if (gaps.length > 0) {
    throw incompleteList(`set redfish.system, of which the BMC lists ${named(paths)}`, gaps);
  }
  if (only === undefined) throw new BmcError("unsupported", "the BMC lists no system");
  if (others.length > 0) return await chooseSystem(service, paths, { signal, onChoice: known.onChoice });
  return await service.get(only, System, signal);
}

/** Selects a system. Accelerator boards are listed as systems next to their host; those that cannot be reset are not meant. */
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
    // An unreadable system may be the one that is meant.
    if (!system) {
      const [why = { reason: "the BMC does not have it" }] = gaps;
      throw new BmcError("usage", `${several}; ${path} cannot be read: ${why.reason}`);
    }
    systems.push(system);
  }
  const resettable = systems.filter(({ value }) => value.Actions?.["#ComputerSystem.Reset"]);
  // A baseboard of GPUs can be reset like its host, but has no boot override.
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
  // Nearly every service names a member by its Id, so guessing it saves reading the collection.
  const system = await service.find(`${SYSTEMS}/${encodeURIComponent(selector)}`, System, signal);
  return system?.value.Id === selector ? system : undefined;
}

async function listSystems(members: Members, service: Service, signal: AbortSignal): Promise<Listed> {
  const gaps: Unread[] = [];
  const limits = {
    members: MOST_LISTED,
    requests: { left: MOST_PAGES },
    unread: (gap: Unread) => void gaps.push(gap),
  };
  const list = (path: string) => members.list(path, signal, limits);
  const listed = (await list(SYSTEMS)) ?? (await listFromRoot(service, list, signal));
  if (!listed) throw new BmcError("unsupported", "the BMC offers no Redfish systems");
  return { paths: listed.map(({ path }) => path), gaps };
}

interface Listed {
  readonly paths: readonly string[];
  /** The reasons why the list may be incomplete. */
  readonly gaps: readonly Unread[];
}

async function listFromRoot(
  service: Service,
  list: (path: string) => Promise<readonly Member[] | undefined>,
  signal: AbortSignal,
): Promise<readonly Member[] | undefined> {
  const root = await service.find(SERVICE_ROOT, ServiceRoot, signal);
  const path = service.localPath(root?.value.Systems?.["@odata.id"]);
  return path === undefined ? undefined : await list(path);
}

async function selectSystem(
  service: Service,
  { paths: members, gaps: unlisted }: Listed,
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
    if (only && others.length === 0 && gaps.length === 0 && unlisted.length === 0) return only;
    throwUnread(gaps, `system ${selector}`);
  }
  const text = `system ${selector} is not among those that can be read, set redfish.system to its path; the BMC lists ${named(members)}`;
  if (unlisted.length > 0) throw incompleteList(text, unlisted);
  if (members.length > MOST_NAMED) throw new BmcError("usage", text);
  throw new BmcError("usage", `the BMC has no system ${selector}; it has ${named(members)}`);
}

function named(members: readonly string[]): string {
  if (members.length === 0) return "none";
  const rest = members.length - MOST_NAMED;
  return members.slice(0, MOST_NAMED).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
