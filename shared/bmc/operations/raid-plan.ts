import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import { nearestName } from "../../nearest-name.ts";
import { incompleteList } from "./unread.ts";

export const RAID_LEVELS = ["RAID0", "RAID1", "RAID5", "RAID6", "RAID10"] as const;
/** A RAID level for new volumes. */
export type RaidLevel = (typeof RAID_LEVELS)[number];

/** A volume as the BMC reports it. */
export interface RaidVolume {
  /** The ID of its controller. */
  readonly controller: string;
  /** Unique among the volumes of its controller. */
  readonly id: string;
  /** Empty if the BMC reports none. */
  readonly name: string;
  /** The name that a user gave the volume, if the BMC stores it separately. */
  readonly displayName?: string;
  /** The BMC's name for the RAID level; absent if it reports none. */
  readonly level?: string;
  /** IDs of its drives. */
  readonly drives: readonly string[];
  /** Its size in bytes; absent if the BMC reports none. */
  readonly bytes?: number;
}

/** A drive of a controller. */
export interface RaidDrive {
  readonly id: string;
  readonly serialNumber?: string;
  readonly bytes?: number;
  /** `SSD` or `HDD` (DSP0268, MediaType); absent if the BMC reports none. */
  readonly media?: string;
  /** Why no volume can use it; absent if it is free. */
  readonly obstacle?: string;
}

/** A storage subsystem that has volumes. */
export interface RaidController {
  readonly id: string;
  /** The levels that it supports; absent if it does not report them. */
  readonly levels?: readonly string[];
  readonly drives: readonly RaidDrive[];
  readonly volumes: readonly RaidVolume[];
  /** Why the controller could not be read, although it may have drives and volumes. */
  readonly unread?: string;
}

/** A request for a volume. */
export interface WantedVolume {
  /** The name, by which the volume can be found later. */
  readonly name: string;
  /** The RAID level. */
  readonly level: RaidLevel;
  /** The number of drives, or their IDs. */
  readonly drives: number | readonly string[];
  /** The size in bytes. Default: all space of the drives. */
  readonly bytes?: number;
  /** The type of its drives. */
  readonly media?: "SSD" | "HDD";
  /** The smallest size of its drives in bytes. */
  readonly minDriveBytes?: number;
}

/** A volume to create. */
export interface NewVolume {
  readonly name: string;
  readonly level: RaidLevel;
  /** IDs of its drives. */
  readonly drives: readonly string[];
  /** The drives' serial numbers by ID, if reported, because another drive in the same place may contain data. */
  readonly serialNumbers?: Readonly<Record<string, string>>;
  readonly bytes?: number;
}

interface VolumePlan {
  readonly controller: RaidController;
  readonly create: readonly NewVolume[];
}

interface LevelRule {
  readonly fewest: number;
  readonly most: number;
  /** The number of drives must be a multiple of this. */
  readonly step: number;
  /** Returns the usable space of `count` drives, in units of one drive. */
  readonly usable: (count: number) => number;
}

/** The rules of the levels (SNIA Common RAID Disk Data Format). RAID1 mirrors two drives; more copies are vendors' extensions. */
const RULES: Readonly<Record<RaidLevel, LevelRule>> = {
  RAID0: { fewest: 1, most: 128, step: 1, usable: (count) => count },
  RAID1: { fewest: 2, most: 2, step: 1, usable: () => 1 },
  RAID5: { fewest: 3, most: 128, step: 1, usable: (count) => count - 1 },
  RAID6: { fewest: 4, most: 128, step: 1, usable: (count) => count - 2 },
  RAID10: { fewest: 4, most: 128, step: 2, usable: (count) => count / 2 },
};

/** The tolerance for sizes, because controllers round to stripes and reserve some space. */
const SIZE_TOLERANCE = 0.02;

/** Explains why a level cannot have this number of drives; undefined if it can. */
export function driveCountProblem(level: RaidLevel, count: number): string | undefined {
  const { fewest, most, step } = RULES[level];
  if (fewest === most && count !== fewest) return `${level} has ${fewest} drives, not ${count}`;
  if (count < fewest) return `${level} has ${fewest} drives or more, not ${count}`;
  if (count > most) return `${level} has ${most} drives at most, not ${count}`;
  return count % step === 0 ? undefined : `${level} has an even number of drives, not ${count}`;
}

/**
 * Compares the wanted volumes with the existing ones and chooses drives for the missing ones. Volumes with named drives choose
 * first, then the others in their order: each takes the smallest free drives of one type that give its size. Throws `state`
 * with all problems, and `usage` if the controller is unknown or must be named.
 */
export function planVolumes(
  controllers: readonly RaidController[],
  wanted: readonly WantedVolume[],
  controllerId: string | undefined,
): VolumePlan {
  const controller = chooseController(controllers, wanted, controllerId);
  const taken = new Set<string>();
  const problems: string[] = [];
  const planned = new Map<string, NewVolume>();
  const order = [...wanted].sort((one, other) => Number(isCount(one)) - Number(isCount(other)));
  for (const want of order) {
    const same = controller.volumes.filter((volume) => isNamed(volume, want.name));
    const [existing] = same;
    const found = same.length > 1 ? [`${same.length} volumes have this name`] : [];
    if (existing && found.length === 0) {
      found.push(...differences(existing, want, controller));
      if (found.length > 0) found.push("clear it first");
    } else if (!existing) {
      const drives = chooseDrives(controller, want, taken, found);
      found.push(...unfit(controller, want, drives));
      for (const { id } of drives) taken.add(id);
      const { name, level, bytes } = want;
      const serials = drives.flatMap(({ id, serialNumber }) => (serialNumber ? [[id, serialNumber]] : []));
      planned.set(name, {
        name,
        level,
        drives: drives.map(({ id }) => id),
        serialNumbers: Object.fromEntries(serials),
        ...defined({ bytes }),
      });
    }
    if (found.length > 0) problems.push(`${want.name}: ${found.join(", ")}`);
  }
  if (problems.length > 0) throw new BmcError("state", `controller ${controller.id}: ${problems.join("; ")}`);
  return { controller, create: wanted.flatMap(({ name }) => planned.get(name) ?? []) };
}

const isCount = ({ drives }: WantedVolume) => typeof drives === "number";

function chooseController(
  controllers: readonly RaidController[],
  wanted: readonly WantedVolume[],
  id: string | undefined,
): RaidController {
  if (id !== undefined) return namedController(controllers, id);
  // An unread controller might also fit.
  throwUnread(controllers, "; name the controller to use");
  const able = controllers.filter(
    ({ levels, drives }) =>
      drives.length > 0 && (!levels || wanted.every(({ level }) => levels.includes(level))),
  );
  const [only, ...others] = able.length > 0 ? able : controllers;
  if (!only) throw new BmcError("unsupported", "the BMC reports no RAID controller");
  if (others.length === 0) return only;
  const ids = [only, ...others].map((each) => each.id).join(", ");
  throw new BmcError("usage", `the machine has several RAID controllers, name one of ${ids}`);
}

/** Throws if a controller could not be read, because it may have the volume or drives that were not found. */
function throwUnread(controllers: readonly RaidController[], hint = ""): void {
  const unread = controllers.flatMap(({ id, unread }) =>
    unread === undefined ? [] : [{ name: `RAID controller ${id}`, reason: unread }],
  );
  if (unread.length > 0) throw incompleteList(`not all RAID controllers can be read${hint}`, unread);
}

/** Finds a controller by ID. Throws `usage` if there is none. */
function namedController(controllers: readonly RaidController[], id: string): RaidController {
  const found = controllers.find((controller) => controller.id === id && controller.unread === undefined);
  if (found) return found;
  throwUnread(controllers);
  const ids = controllers.map((controller) => controller.id);
  const near = nearestName(id, ids);
  const hint = near === undefined ? `it has ${ids.join(", ") || "none"}` : `did you mean ${near}?`;
  throw new BmcError("usage", `the machine has no RAID controller ${id}; ${hint}`);
}

function differences(volume: RaidVolume, want: WantedVolume, { drives }: RaidController): readonly string[] {
  const { level, bytes } = volume;
  const problems: string[] = [];
  if (level !== want.level) problems.push(`it exists as ${level ?? "an unknown level"}`);
  if (typeof want.drives === "number") {
    if (volume.drives.length !== want.drives) problems.push(`it exists with ${volume.drives.length} drives`);
  } else if (!isSameSet(volume.drives, want.drives)) {
    problems.push(`it exists with the drives ${volume.drives.join(", ") || "(unknown)"}`);
  }
  if (!isSize(bytes, want.bytes)) problems.push(`it exists with ${bytes ?? "an unknown number of"} bytes`);
  const own = drives.filter(({ id }) => volume.drives.includes(id));
  return [...problems, ...own.flatMap((drive) => filterProblem(drive, want) ?? [])];
}

function chooseDrives(
  { drives }: RaidController,
  want: WantedVolume,
  taken: ReadonlySet<string>,
  problems: string[],
): readonly RaidDrive[] {
  const obstacle = ({ id, obstacle }: RaidDrive) =>
    taken.has(id) ? "is for another volume of this request" : obstacle;
  const named = want.drives;
  if (typeof named !== "number") {
    return named.flatMap((id) => {
      const found = drives.find((drive) => drive.id === id);
      const problem = found && obstacle(found);
      if (!found) problems.push(`there is no drive ${id}`);
      else if (problem !== undefined) problems.push(`drive ${id} ${problem}`);
      else problems.push(...[filterProblem(found, want) ?? []].flat());
      return found ?? [];
    });
  }
  const fit = drives.filter((drive) => !obstacle(drive) && !filterProblem(drive, want));
  const perDrive = (want.bytes ?? 0) / Math.max(1, RULES[want.level].usable(named));
  const isLarge = ({ bytes = 0 }: RaidDrive) => bytes >= perDrive;
  const groups = [...Map.groupBy(fit, ({ media }) => media).values()];
  const enough =
    groups.map((group) => group.filter(isLarge)).find((group) => group.length >= named) ??
    groups.find((group) => group.length >= named);
  if (enough) return enough.toSorted((a, b) => (a.bytes ?? 0) - (b.bytes ?? 0)).slice(0, named);
  const reasons = drives.flatMap((drive) => {
    const reason = obstacle(drive) ?? filterProblem(drive, want);
    return reason === undefined ? [] : [`${drive.id} ${reason.replace(`drive ${drive.id} `, "")}`];
  });
  const most = Math.max(0, ...groups.map((group) => group.length));
  problems.push(`needs ${named} free drives of one type, has ${most}`, ...reasons);
  return [];
}

function filterProblem({ id, media, bytes }: RaidDrive, want: WantedVolume): string | undefined {
  if (want.media !== undefined && media !== want.media) return `drive ${id} is ${media ?? "of unknown type"}`;
  if (want.minDriveBytes === undefined || (bytes ?? 0) >= want.minDriveBytes) return undefined;
  return `drive ${id} has ${bytes ?? "an unknown number of"} bytes`;
}

function unfit(
  { levels }: RaidController,
  { level, bytes, drives: asked }: WantedVolume,
  drives: readonly RaidDrive[],
): readonly string[] {
  const problems: string[] = [];
  if (levels && !levels.includes(level)) {
    problems.push(`the controller does not support ${level}, only ${levels.join(", ") || "no level"}`);
  }
  const count = typeof asked === "number" ? asked : asked.length;
  problems.push(...[driveCountProblem(level, count) ?? []].flat());
  const smallest = Math.min(...drives.map((drive) => drive.bytes ?? Number.POSITIVE_INFINITY));
  const usable = RULES[level].usable(count) * smallest;
  if (bytes !== undefined && drives.length === count && bytes > usable) {
    problems.push(`${bytes} bytes are more than the ${usable} that its drives give`);
  }
  return problems;
}

const isSameSet = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((one) => others.includes(one));

function isSize(bytes: number | undefined, asked: number | undefined): boolean {
  if (asked === undefined) return true;
  return bytes !== undefined && Math.abs(bytes - asked) <= asked * SIZE_TOLERANCE;
}

/** Whether a volume has this name. Some vendors choose the name themselves and show the requested one as display name. */
function isNamed({ name, displayName }: RaidVolume, asked: string): boolean {
  return displayName === asked || name === asked;
}

/** Whether a volume is the one that the request created. */
export function isCreated(volume: RaidVolume, { name, level, drives, bytes }: NewVolume): boolean {
  return (
    isNamed(volume, name) &&
    volume.level === level &&
    isSameSet(volume.drives, drives) &&
    isSize(volume.bytes, bytes)
  );
}

/** Whether two readings show the same volume. IDs do not prove it, because BMCs may reassign them after a deletion. */
export function isSameVolume(one: RaidVolume, other: RaidVolume): boolean {
  return (
    one.controller === other.controller &&
    (one.id === other.id || one.name !== "") &&
    one.name === other.name &&
    one.displayName === other.displayName &&
    isSameSet(one.drives, other.drives)
  );
}

/** Finds volumes by name or ID. Those that do not exist are left out. Throws `usage` if a name matches several volumes. */
export function findVolumes(
  controllers: readonly RaidController[],
  names: readonly string[],
  controllerId: string | undefined,
): readonly RaidVolume[] {
  const among = controllerId === undefined ? controllers : [namedController(controllers, controllerId)];
  const volumes = among.flatMap((controller) => controller.volumes);
  const problems: string[] = [];
  const found = names.flatMap((asked) => {
    const fit = volumes.filter((volume) => isNamed(volume, asked) || volume.id === asked);
    if (fit.length === 0) throwUnread(among);
    if (fit.length < 2) return fit;
    const list = fit.map(
      ({ controller, id, name, displayName }) =>
        `${displayName ?? (name || "(no name)")} (ID ${id} of ${controller})`,
    );
    problems.push(`${asked} matches several volumes: ${list.join(", ")}`);
    return [];
  });
  if (problems.length > 0) throw new BmcError("usage", problems.join("; "));
  return [...new Set(found)];
}
