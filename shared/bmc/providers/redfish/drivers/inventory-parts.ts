import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import type { Hardware } from "../../../operations/inventory.ts";
import { Link, Links, lenient } from "../service/schema.ts";

type Processor = Hardware["processors"][number];
type Dimm = Hardware["memory"][number];
type Disk = Hardware["disks"][number];
type Nic = Hardware["nics"][number];
type Firmware = Hardware["firmware"][number];

const Text = lenient(z.string());
const Count = lenient(z.number().check(z.nonnegative()));
const Status = lenient(z.object({ State: Text, Health: Text }));

const named = { Id: Text, Name: Text, Status };

/** Processor (DSP0268). */
export const ProcessorResource = z.object({
  ...named,
  ProcessorType: Text,
  Socket: Text,
  Manufacturer: Text,
  Model: Text,
  SerialNumber: Text,
  FirmwareVersion: Text,
  TotalCores: Count,
  TotalThreads: Count,
});

/** Memory (DSP0268): one module, or its empty place. */
export const MemoryResource = z.object({
  ...named,
  DeviceLocator: Text,
  CapacityMiB: Count,
  MemoryDeviceType: Text,
  Manufacturer: Text,
  SerialNumber: Text,
});

/** Drive (DSP0268). */
export const DriveResource = z.object({
  ...named,
  Manufacturer: Text,
  Model: Text,
  SerialNumber: Text,
  Revision: Text,
  CapacityBytes: Count,
  MediaType: Text,
  Protocol: Text,
});

/** SimpleStorage (DSP0268), the older resource, which contains its devices. */
export const SimpleStorageResource = z.object({
  Devices: z.catch(z.array(z.object({ Name: Text, Model: Text, CapacityBytes: Count, Status })), []),
});

/** iLO's own resource for a drive (HpeSmartStorageDiskDrive, HpSmartStorageDiskDrive). Its `Name` is that of its type. */
export const SmartDriveResource = z.object({
  Id: Text,
  Status,
  Location: Text,
  Model: Text,
  SerialNumber: Text,
  CapacityMiB: Count,
  CapacityGB: Count,
  MediaType: Text,
  InterfaceType: Text,
});

/** The fields of NetworkAdapter (DSP0268) that lead to MAC addresses. */
export const AdapterResource = z.object({
  Id: Text,
  NetworkDeviceFunctions: lenient(Link),
  Ports: lenient(Link),
  NetworkPorts: lenient(Link),
});

const Addresses = z.catch(z.array(z.catch(z.string(), "")), []);

/** NetworkDeviceFunction, Port or NetworkPort (DSP0268) of an adapter. */
export const AdapterPartResource = z.object({
  ...named,
  Ethernet: lenient(
    z.object({ MACAddress: Text, PermanentMACAddress: Text, AssociatedMACAddresses: Addresses }),
  ),
  AssociatedNetworkAddresses: Addresses,
  LinkStatus: Text,
});

/** EthernetInterface (DSP0268). */
export const NicResource = z.object({
  ...named,
  MACAddress: Text,
  PermanentMACAddress: Text,
  SpeedMbps: Count,
  LinkStatus: Text,
});

const nameplate = { Manufacturer: Text, Model: Text, SerialNumber: Text };

/** Chassis (DSP0268). */
export const ChassisResource = z.object({ ...nameplate, Assembly: lenient(Link) });

/** Assembly (DSP0268): the parts of a chassis. Before version 1.1, the vendor is only the `Producer`. */
export const AssemblyResource = z.object({
  Assemblies: z.catch(
    z.array(
      z.catch(
        z.object({
          PhysicalContext: Text,
          Vendor: Text,
          Producer: Text,
          Model: Text,
          SerialNumber: Text,
        }),
        {},
      ),
    ),
    [],
  ),
});

/** SoftwareInventory (DSP0268). */
export const FirmwareResource = z.object({
  ...named,
  Version: Text,
  Updateable: lenient(z.boolean()),
  RelatedItem: Links,
});

/** Whether the firmware is installed. Dell also lists previous and available versions, which differ in the `Id`. */
export function isInstalled(value: z.infer<typeof FirmwareResource>): boolean {
  return !isAbsent(value) && !/^(Previous|Available)-/.test(value.Id ?? "");
}

export function processor(path: string, value: z.infer<typeof ProcessorResource>): Processor | undefined {
  if (isAbsent(value)) return undefined;
  if (value.ProcessorType !== undefined && value.ProcessorType !== "CPU") return undefined;
  return {
    name: text(value.Socket) ?? nameOf(path, value),
    ...defined({
      vendor: text(value.Manufacturer),
      model: text(value.Model),
      cores: value.TotalCores,
      threads: value.TotalThreads,
    }),
  };
}

export function dimm(path: string, value: z.infer<typeof MemoryResource>): Dimm | undefined {
  if (isAbsent(value) || value.CapacityMiB === 0) return undefined;
  const known = value.CapacityMiB ?? text(value.MemoryDeviceType) ?? text(value.SerialNumber);
  // A place that is empty without saying so.
  if (known === undefined) return undefined;
  return {
    name: text(value.DeviceLocator) ?? nameOf(path, value),
    ...defined({
      bytes: value.CapacityMiB === undefined ? undefined : value.CapacityMiB * 1_048_576,
      kind: text(value.MemoryDeviceType),
      vendor: text(value.Manufacturer),
      serial: text(value.SerialNumber),
    }),
  };
}

export function disk(path: string, value: z.infer<typeof DriveResource>): Disk | undefined {
  if (isAbsent(value)) return undefined;
  const kind = [text(value.Protocol), text(value.MediaType)].filter(Boolean).join(" ");
  return {
    name: nameOf(path, value),
    ...defined({
      vendor: text(value.Manufacturer),
      model: text(value.Model),
      serial: text(value.SerialNumber),
      firmware: text(value.Revision),
      health: text(value.Status?.Health),
      state: text(value.Status?.State),
      bytes: value.CapacityBytes,
      kind: kind || undefined,
    }),
  };
}

export function simpleDisks(path: string, value: z.infer<typeof SimpleStorageResource>): Disk[] {
  return value.Devices.filter((device) => !isAbsent(device)).map((device) => ({
    name: nameOf(path, device),
    ...defined({
      model: text(device.Model),
      bytes: device.CapacityBytes,
    }),
  }));
}

export function smartDisk(path: string, value: z.infer<typeof SmartDriveResource>): Disk | undefined {
  const { CapacityMiB: mebibytes, CapacityGB: gigabytes } = value;
  const bytes = mebibytes === undefined ? gigabytes && gigabytes * 1e9 : mebibytes * 1_048_576;
  const drive = { ...value, Name: value.Location, Protocol: value.InterfaceType, CapacityBytes: bytes };
  return disk(path, { ...drive, Manufacturer: undefined, Revision: undefined });
}

/** The parts of an adapter that have a MAC address. */
export function adapterNics(path: string, value: z.infer<typeof AdapterPartResource>): Nic[] {
  if (isAbsent(value)) return [];
  const { Ethernet: ethernet, AssociatedNetworkAddresses: addresses, LinkStatus: status } = value;
  const own = text(ethernet?.PermanentMACAddress) ?? text(ethernet?.MACAddress);
  const all = own === undefined ? [...(ethernet?.AssociatedMACAddresses ?? []), ...addresses] : [own];
  return [...new Set(all.filter((mac) => MAC.test(mac)).map((mac) => mac.toLowerCase()))].map((mac) => ({
    name: text(value.Id) ?? nameOf(path, value),
    mac,
    ...defined({ up: status === undefined ? undefined : /^(Link)?Up$/.test(status) }),
  }));
}

const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i;

export function nic(path: string, value: z.infer<typeof NicResource>): Nic | undefined {
  if (isAbsent(value)) return undefined;
  const mac = text(value.PermanentMACAddress) ?? text(value.MACAddress);
  return {
    name: text(value.Id) ?? nameOf(path, value),
    ...defined({
      mac: mac?.toLowerCase(),
      speedMbps: value.SpeedMbps,
      up: value.LinkStatus === undefined ? undefined : value.LinkStatus === "LinkUp",
    }),
  };
}

/** The nameplate of a chassis or a BMC; undefined if nothing is known. */
export function nameplateOf(value: {
  readonly Manufacturer?: string | undefined;
  readonly Model?: string | undefined;
  readonly SerialNumber?: string | undefined;
}): NonNullable<Hardware["chassis"]> | undefined {
  return orUndefined(
    defined({ vendor: text(value.Manufacturer), model: text(value.Model), serial: text(value.SerialNumber) }),
  );
}

/** The mainboard among the assemblies of a chassis. */
export function mainboard({ Assemblies: all }: z.infer<typeof AssemblyResource>): Hardware["mainboard"] {
  const board = all.find(({ PhysicalContext: context }) => context === "SystemBoard");
  const vendor = text(board?.Vendor) ?? text(board?.Producer);
  return board && nameplateOf({ ...board, Manufacturer: vendor });
}

/** Returns undefined for an object without fields. */
export function orUndefined<T extends object>(fields: T): T | undefined {
  return Object.keys(fields).length > 0 ? fields : undefined;
}

export function firmware(path: string, value: z.infer<typeof FirmwareResource>): Firmware | undefined {
  const version = text(value.Version);
  if (version === undefined || !isInstalled(value)) return undefined;
  return { name: nameOf(path, value), version };
}

export function isAbsent({
  Status: status,
}: {
  readonly Status?: { readonly State?: string | undefined } | undefined;
}) {
  return status?.State === "Absent";
}

export function nameOf(
  path: string,
  value: { readonly Name?: string | undefined; readonly Id?: string | undefined },
) {
  return text(value.Name) ?? text(value.Id) ?? path.split("/").at(-1) ?? path;
}

/** Returns undefined for blanks, with which BMCs fill unknown fields. */
export function text(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}
