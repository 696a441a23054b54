import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { identityIn, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import type { RaidApplyTime, RaidChange, RaidDriver } from "../../../operations/raid.ts";
import {
  isSameVolume,
  type NewVolume,
  type RaidDrive,
  type RaidVolume,
} from "../../../operations/raid-plan.ts";
import { throwIfNoneRead, type Unread } from "../../../operations/unread.ts";
import type { Resources } from "../resources/resources.ts";
import { stateOfWord } from "../resources/task-state.ts";
import { readable, throwUnread } from "../resources/unreadable.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { namesProperty, readRefusal } from "../service/refusal.ts";
import { identifying, Link, Links, lenient, Values } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import { text } from "./inventory-parts.ts";

const Text = lenient(z.string());
const Count = lenient(z.number().check(z.nonnegative()));
const ApplyTimes = lenient(z.object({ SupportedValues: lenient(Values) }));

const ControllerPart = z.object({ SupportedRAIDTypes: lenient(Values) });

/** The used fields of Storage (DSP0268). `StorageControllers` is the older form of `Controllers`. */
const Storage = z.object({
  Id: Text,
  Drives: identifying(z.catch(Links, [])),
  Volumes: identifying(lenient(Link)),
  Controllers: lenient(Link),
  StorageControllers: z.catch(z.array(z.catch(ControllerPart, {})), []),
});

const VolumeCollection = z.object({ "@Redfish.OperationApplyTimeSupport": ApplyTimes });

/** Volume (DSP0268). */
const Volume = z.object({
  Id: Text,
  Name: identifying(lenient(z.string())),
  DisplayName: Text,
  RAIDType: Text,
  VolumeType: Text,
  CapacityBytes: Count,
  Links: identifying(lenient(z.object({ Drives: Links }))),
  "@Redfish.OperationApplyTimeSupport": ApplyTimes,
});

/** Drive (DSP0268). */
const Drive = z.object({
  Id: Text,
  SerialNumber: Text,
  CapacityBytes: Count,
  MediaType: Text,
  HotspareType: Text,
  Status: lenient(z.object({ State: Text, Health: Text })),
  Links: lenient(z.object({ Volumes: Links })),
  Oem: lenient(
    z.object({ Dell: lenient(z.object({ DellPhysicalDisk: lenient(z.object({ RaidStatus: Text })) })) }),
  ),
});

/** Task (DSP0268): the request that started it, and whether it has ended. */
const StartedTask = z.object({
  TaskState: identifying(lenient(z.string())),
  Payload: lenient(z.object({ TargetUri: Text })),
});

/** Levels of services without RAIDType (Volume before v1.3, DSP0268). RAID6 has no such name. */
const VOLUME_TYPES: Readonly<Record<string, string>> = {
  NonRedundant: "RAID0",
  Mirrored: "RAID1",
  StripedWithParity: "RAID5",
  SpannedMirrors: "RAID10",
};

const APPLY_TIMES: Readonly<Record<RaidApplyTime, string>> = {
  "on-reset": "OnReset",
  immediate: "Immediate",
};

/** The RAIDType (DSP0268, Volume) of a drive without RAID. */
const NO_RAID = "None";

const MOST_CONTROLLERS = 32;
const MOST_MEMBERS = 512;
const MOST_REQUESTS = 1_200;
const MOST_TASK_REQUESTS = 200;
const TASKS = "/redfish/v1/TaskService/Tasks";

/** Volumes of the system's storage subsystems. */
export function redfishRaid({ system, members, writer }: Resources): RaidDriver {
  const { service } = system;

  const readController = async (
    storage: Resource<z.infer<typeof Storage>>,
    volumesPath: string,
    requests: { left: number },
    signal: AbortSignal,
  ) => {
    const gaps: Unread[] = [];
    const unread = (gap: Unread) => gaps.push(gap);
    const limits = { members: MOST_MEMBERS, requests, unread };
    const id = text(storage.value.Id) ?? nameIn(storage.path);
    // There are no limits here, because the drives of a volume that is left out would seem free.
    const listed = await members.read(volumesPath, Volume, signal);
    // Entries that are not volumes: HPE lists each unused drive like this, and removes the entry when a volume uses the drive.
    const found = listed?.filter(({ value }) => value.RAIDType !== NO_RAID);
    const unused = new Set(listed?.filter(({ value }) => value.RAIDType === NO_RAID).map(({ path }) => path));
    const isUnused = (link: string) => unused.has(service.localPath(link) ?? "");
    const drivePaths = storage.value.Drives.flatMap((link) => service.localPath(link["@odata.id"]) ?? []);
    const drives: { readonly path: string; readonly drive: RaidDrive }[] = [];
    const used = new Set(
      found?.flatMap(({ value }) => (value.Links?.Drives ?? []).map((link) => link["@odata.id"])),
    );
    const volumePaths = new Set([...used].flatMap((link) => service.localPath(link) ?? []));
    for (const path of new Set(drivePaths)) {
      if (drives.length >= MOST_MEMBERS || requests.left-- <= 0) {
        throw new BmcError("unsupported", `controller ${id} has too many drives`);
      }
      // The drive was just removed.
      const resource = await service.findLinked(path, Drive, signal);
      if (resource)
        drives.push({ path, drive: driveOf(path, resource.value, volumePaths.has(path), isUnused) });
    }
    const idOf = (link: string) => {
      const path = service.localPath(link);
      return drives.find((drive) => drive.path === path)?.drive.id ?? nameIn(link);
    };
    const volumes = (found ?? []).map((resource) => ({
      ...resource,
      volume: volumeOf(id, resource, idOf),
    }));
    const parts = storage.value.StorageControllers;
    const link = service.localPath(storage.value.Controllers?.["@odata.id"]);
    const read =
      link === undefined || parts.length > 0 ? [] : await members.read(link, ControllerPart, signal, limits);
    const reported = [...parts, ...(read ?? []).map(({ value }) => value)].flatMap(
      ({ SupportedRAIDTypes }) => (SupportedRAIDTypes ? [SupportedRAIDTypes] : []),
    );
    // What cannot be read may offer more.
    const levels = reported.length === 0 || gaps.length > 0 ? undefined : [...new Set(reported.flat())];
    return { id, volumesPath, drives, volumes, levels };
  };

  const readEach = async (signal: AbortSignal) => {
    await system.refresh(signal);
    const path = service.localPath(system.last.value.Storage?.["@odata.id"]);
    const requests = { left: MOST_REQUESTS };
    const unread: { id: string; reason: string }[] = [];
    const tell = ({ name, reason }: Unread) => unread.push({ id: nameIn(name), reason });
    const limits = { members: MOST_CONTROLLERS, requests, unread: tell };
    const storages = path === undefined ? undefined : await members.read(path, Storage, signal, limits);
    const found = [];
    for (const storage of storages ?? []) {
      const volumesPath = service.localPath(storage.value.Volumes?.["@odata.id"]);
      if (volumesPath !== undefined) {
        const read = () => readController(storage, volumesPath, requests, signal);
        const controller = await readable({ name: storage.path, unread: tell }, read);
        if (controller) found.push(controller);
      }
    }
    return { found, unread };
  };

  const readAll = async (signal: AbortSignal) => {
    const { found, unread } = await readEach(signal);
    throwIfNoneRead(
      found.length,
      unread.map(({ id, reason }) => ({ name: id, reason })),
      "RAID controller",
    );
    if (found.length === 0) throw new BmcError("unsupported", "the BMC reports no RAID controller");
    return { found, unread };
  };

  const creation = async (
    id: string,
    { name, level, drives, bytes, serialNumbers }: NewVolume,
    time: RaidApplyTime | undefined,
    signal: AbortSignal,
  ): Promise<WriteRequest> => {
    const controller = (await readAll(signal)).found.find((each) => each.id === id);
    if (!controller) throw new BmcError("state", `the BMC no longer lists controller ${id}`);
    const { volumesPath, levels, volumes } = controller;
    const chosen = drives.map((asked) => {
      const serialNumber = serialNumbers?.[asked];
      const found = controller.drives.find(({ drive }) =>
        serialNumber === undefined ? drive.id === asked : drive.serialNumber === serialNumber,
      );
      if (!found && serialNumber !== undefined) {
        throw new TargetMoved(`drive ${asked} (serial number ${serialNumber})`, id, "another drive or none");
      }
      if (!found) throw new BmcError("state", `the BMC no longer lists drive ${asked}`);
      const { obstacle } = found.drive;
      if (obstacle !== undefined) throw new BmcError("state", `drive ${asked} ${obstacle}`);
      return found;
    });
    const targets = chosen.map(({ path, drive }) => ({
      what: `drive ${drive.id}`,
      path,
      identity: identityIn({ Id: drive.id, SerialNumber: drive.serialNumber }),
    }));
    const isOld = !levels && !volumes.some(({ value }) => value.RAIDType !== undefined) && volumes.length > 0;
    const type = isOld ? volumeType(level) : { RAIDType: level };
    const { value } = await service.get(volumesPath, VolumeCollection, signal);
    const apply = applyTime(time, value["@Redfish.OperationApplyTimeSupport"]?.SupportedValues);
    const body = {
      Name: name,
      ...type,
      ...defined({ CapacityBytes: bytes }),
      Links: { Drives: chosen.map(({ path }) => ({ "@odata.id": path })) },
      ...apply,
    };
    return { method: "POST", path: volumesPath, body, background: true, targets };
  };

  const deletion = async (
    volume: RaidVolume,
    time: RaidApplyTime | undefined,
    signal: AbortSignal,
  ): Promise<WriteRequest> => {
    const all = (await readAll(signal)).found.flatMap(({ volumes }) => volumes);
    const found = all.find((each) => isSameVolume(each.volume, volume));
    if (!found) {
      const { controller, id, name } = volume;
      throw new TargetMoved(`volume ${name || id}`, `ID ${id} of ${controller}`, "another volume or none");
    }
    const { path, etag, value } = found;
    const targets = [{ what: `volume ${volume.name || volume.id}`, path, identity: identityIn(value) }];
    const apply = applyTime(time, value["@Redfish.OperationApplyTimeSupport"]?.SupportedValues);
    const body = Object.keys(apply).length === 0 ? undefined : apply;
    return { method: "DELETE", path, etag, background: true, targets, ...defined({ body }) };
  };

  /** iLO names volumes itself, does not know `Name` in a creation and accepts `DisplayName`. */
  const write = async (request: WriteRequest, signal: AbortSignal) => {
    const { Name: name, ...rest } = Object(request.body);
    const answer = await writer.attempt(request, signal);
    const isName = answer.status === 400 && name !== undefined && namesProperty(readRefusal(answer), "Name");
    if (isName) return await writer.write({ ...request, body: { ...rest, DisplayName: name } }, signal);
    if (answer.status >= 300) throw service.refusal(answer, request);
    return answer;
  };

  const requestOf = (change: RaidChange, time: RaidApplyTime | undefined, signal: AbortSignal) =>
    change.kind === "create"
      ? creation(change.controller, change.volume, time, signal)
      : deletion(change.volume, time, signal);

  return {
    async read(signal) {
      const { found, unread } = await readAll(signal);
      const read = found.map(({ id, levels, drives, volumes }) => ({
        id,
        ...defined({ levels }),
        drives: drives.map(({ drive }) => drive),
        volumes: volumes.map(({ volume }) => volume),
      }));
      const gaps = unread.map(({ id, reason }) => ({ id, drives: [], volumes: [], unread: reason }));
      return [...read, ...gaps];
    },
    async pending(controller, signal) {
      const { volumesPath } = (await readAll(signal)).found.find(({ id }) => id === controller) ?? {};
      if (volumesPath === undefined) return undefined;
      const gaps: Unread[] = [];
      const unread = (gap: Unread) => gaps.push(gap);
      const limits = { members: MOST_MEMBERS, requests: { left: MOST_TASK_REQUESTS }, unread };
      const tasks = (await members.read(TASKS, StartedTask, signal, limits)) ?? [];
      const found = tasks.find(({ value: { TaskState: state, Payload: payload } }) => {
        const target = service.localPath(payload?.TargetUri);
        const isHere = target === volumesPath || target?.startsWith(`${volumesPath}/`) === true;
        return isHere && state !== undefined && !["done", "failed"].includes(stateOfWord(state) ?? "");
      });
      if (!found) throwUnread(gaps, `whether a change of the volumes of ${controller} waits`);
      return found?.path;
    },
    plan: async (change, time, signal) => {
      const request = await requestOf(change, time, signal);
      return request.body === undefined ? `${request.method} ${request.path}` : describeWrite(request);
    },
    async send(change, time, signal) {
      await sendToTarget(async () => {
        await write(await requestOf(change, time, signal), signal);
      });
    },
  };
}

const nameIn = (path: string) => path.split("/").at(-1) ?? path;

function volumeOf(
  controller: string,
  { path, value }: Resource<z.infer<typeof Volume>>,
  idOf: (link: string) => string,
): RaidVolume {
  const { RAIDType, VolumeType = "", CapacityBytes } = value;
  return {
    controller,
    id: text(value.Id) ?? nameIn(path),
    name: text(value.Name) ?? "",
    drives: (value.Links?.Drives ?? []).map((link) => idOf(link["@odata.id"])),
    ...defined({
      displayName: text(value.DisplayName),
      level: text(RAIDType) ?? VOLUME_TYPES[VolumeType],
      bytes: CapacityBytes,
    }),
  };
}

function driveOf(
  path: string,
  value: z.infer<typeof Drive>,
  isTaken: boolean,
  isUnused: (volume: string) => boolean,
): RaidDrive {
  const isUsed = isTaken || (value.Links?.Volumes ?? []).some((link) => !isUnused(link["@odata.id"]));
  return {
    id: text(value.Id) ?? nameIn(path),
    ...defined({
      serialNumber: text(value.SerialNumber),
      bytes: value.CapacityBytes,
      media: text(value.MediaType),
      obstacle: obstacleOf(value, isUsed),
    }),
  };
}

/**
 * Why a drive cannot be used. Only a drive that is known to be free is used, because one in a foreign or unknown state may
 * contain data.
 */
function obstacleOf(
  { Status, HotspareType, Oem }: z.infer<typeof Drive>,
  isUsed: boolean,
): string | undefined {
  if (isUsed) return "is in use by a volume";
  if (HotspareType !== undefined && HotspareType !== "None") return "is a hot spare";
  // Dell's state of a drive in its controller. Only "Ready" means unconfigured.
  const raidStatus = Oem?.Dell?.DellPhysicalDisk?.RaidStatus;
  if (raidStatus !== undefined && raidStatus !== "Ready") return `has the state ${raidStatus}`;
  if (Status?.State !== "Enabled") return `has the state ${Status?.State ?? "unknown"}`;
  if (Status.Health !== undefined && Status.Health !== "OK") return `has the health ${Status.Health}`;
  return undefined;
}

function volumeType(level: string): { readonly VolumeType: string } {
  const found = Object.entries(VOLUME_TYPES).find(([, name]) => name === level);
  if (!found) throw new BmcError("unsupported", `the BMC does not support ${level}`);
  return { VolumeType: found[0] };
}

function applyTime(time: RaidApplyTime | undefined, offered: readonly string[] | undefined) {
  const asked = time && APPLY_TIMES[time];
  if (asked !== undefined && offered && !offered.includes(asked)) {
    throw new BmcError(
      "unsupported",
      `the BMC does not offer apply time ${asked}, only ${offered.join(", ")}`,
    );
  }
  return defined({ "@Redfish.OperationApplyTime": asked });
}
