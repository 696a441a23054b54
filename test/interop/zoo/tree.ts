import { z } from "zod";

/** What a machine without systems has nothing of is absent. */
const Count = z.number().default(0);
const Texts = z.nullish(z.array(z.string()));

/** What the data of one recorded machine hold, as far as it is compared; null is what the tree lacks. */
export const Tree = z.object({
  system: z.nullish(z.string()),
  systems: z.array(z.string()),
  powerState: z.nullish(z.string()),
  bootTarget: z.nullish(z.string()),
  bootEnabled: z.nullish(z.string()),
  bootTargets: Texts,
  bootEnableds: Texts,
  processorsRecorded: z.boolean().default(false),
  processors: Count,
  processorsGpu: Count,
  dimms: Count,
  drives: Count,
  driveSerials: z.array(z.string()).default([]),
  simpleStorageDevices: Count,
  smartStorageDrives: Count,
  drivesElsewhere: Count,
  nics: Count,
  adapterMacsElsewhere: Count,
  firmwareWithVersion: Count,
  manager: z.nullish(z.string()),
  bmcFirmware: z.nullish(z.string()),
  ntp: z.nullish(z.object({ enabled: z.nullish(z.boolean()), servers: z.array(z.string()) })),
  bmcInterfaces: z.nullish(z.number()),
  bmcMacs: Texts,
  users: z.nullish(z.number()),
  chassisAll: Count,
  sensorsThermalPower: Count,
  sensorsSubsystems: Count,
  sensorsAllChassis: Count,
  sensorsThermalPowerAll: Count,
  /** Number of entries; null where these are not recorded. */
  logs: z.nullish(z.record(z.string(), z.nullable(z.number()))),
  biosAttributes: z.nullish(z.number()),
  biosPasswordNames: z.nullish(z.number()),
  secureBoot: z.nullish(z.object({ enable: z.nullish(z.boolean()) })),
  resetTarget: z.nullish(z.string()),
  resetTypes: Texts,
  /** Dell's target for screenshots, from the recording: the summary does not have it. */
  screenshotTarget: z.optional(z.string()),
  /** When the system was last reset, from the recording: the summary does not have it. */
  lastResetTime: z.optional(z.string()),
});
export type Tree = z.infer<typeof Tree>;

export const Trees = z.record(z.string(), Tree);

/** The fields of a recording that tests use. */
export const Recording = z.object({
  vendor: z.string(),
  model: z.string(),
  bmcFirmware: z.nullish(z.string()),
  resources: z.record(z.string(), z.unknown()),
});
export type Recording = z.infer<typeof Recording>;

const Actions = z.object({
  Actions: z.object({
    "#ComputerSystem.Reset": z.optional(z.unknown()),
    "#DellLCService.ExportServerScreenShot": z.optional(z.object({ target: z.string() })),
  }),
});

/** When the recorded system was last reset, by its own clock. */
export function lastResetTime({ resources }: Recording, { system }: Tree): string | undefined {
  const { data } = z.object({ LastResetTime: z.string() }).safeParse(resources[system ?? ""]);
  return data?.LastResetTime;
}

export function screenshotTarget({ resources }: Recording): string | undefined {
  for (const resource of Object.values(resources)) {
    const { data } = Actions.safeParse(resource);
    const action = data?.Actions["#DellLCService.ExportServerScreenShot"];
    if (action) return action.target;
  }
  return undefined;
}

const BootOrder = z.object({ Boot: z.object({ BootOrder: z.array(z.string()) }) });

/** The boot order that the system lists. */
export function recordedBootOrder({ resources }: Recording, { system }: Tree): readonly string[] {
  return BootOrder.safeParse(resources[system ?? ""]).data?.Boot.BootOrder ?? [];
}

const MediaLink = z.object({ VirtualMedia: z.object({ "@odata.id": z.string() }) });
const MediaDrives = z.object({ Members: z.array(z.object({ "@odata.id": z.string() })) });
const MediaDrive = z.object({ Id: z.string(), MediaTypes: z.array(z.string()).default([]) });
export type RecordedDrive = z.infer<typeof MediaDrive>;

/** The virtual drives that a system or manager lists, each name once. */
export function recordedDrives({ resources }: Recording): readonly RecordedDrive[] {
  const trimmed = (path: string) => path.replace(/\/$/, "");
  const members = Object.values(resources).flatMap((resource) => {
    const link = MediaLink.safeParse(resource).data?.VirtualMedia["@odata.id"];
    const listed = link === undefined ? undefined : MediaDrives.safeParse(resources[trimmed(link)]).data;
    return listed?.Members.map((member) => trimmed(member["@odata.id"])) ?? [];
  });
  const drives = members.flatMap((path) => MediaDrive.safeParse(resources[path]).data ?? []);
  return [...new Map(drives.map((drive) => [drive.Id, drive])).values()];
}

/** The systems of which one is meant when none is named: the only one, or those with a reset. */
export function candidates({ resources }: Recording, { systems }: Tree): readonly string[] {
  if (systems.length < 2) return systems;
  return systems.filter(
    (path) => Actions.safeParse(resources[path]).data?.Actions["#ComputerSystem.Reset"] !== undefined,
  );
}
