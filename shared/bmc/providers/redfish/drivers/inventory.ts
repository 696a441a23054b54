import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Hardware, InventoryDriver } from "../../../operations/inventory.ts";
import type { Unread } from "../../../operations/unread.ts";
import { allChassis, type Chassis, chassisOf } from "../resources/chassis.ts";
import type { ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import { readable } from "../resources/unreadable.ts";
import { Link, lenient, type System } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import {
  AdapterPartResource,
  AdapterResource,
  AssemblyResource,
  adapterNics,
  ChassisResource,
  DriveResource,
  dimm,
  disk,
  FirmwareResource,
  firmware,
  MemoryResource,
  mainboard,
  mergeDisks,
  NicResource,
  nameplateOf,
  nic,
  orUndefined,
  ProcessorResource,
  processor,
  SimpleStorageResource,
  SmartDriveResource,
  StorageResource,
  simpleDisks,
  smartDisk,
  text,
} from "./inventory-parts.ts";

const FIRMWARE = "/redfish/v1/UpdateService/FirmwareInventory";
/** A BMC that answers in half a second is done with these in five minutes; a machine of 60 drives needs 120. */
const MOST_REQUESTS = 600;
const MOST_MEMBERS = 256;
const GIB = 1024 ** 3;

/** iLO 4 spells its links without a capital. */
const HpeLinks = lenient(z.object({ SmartStorage: lenient(Link) }));
const HpeSystem = z.object({ Links: HpeLinks, links: HpeLinks });
const SmartLinks = lenient(z.object({ ArrayControllers: lenient(Link) }));
const SmartStorage = z.object({ Links: SmartLinks, links: SmartLinks });
const SmartController = z.object({});

/** What is built into the machine. What cannot be read is left out and named. */
export class RedfishInventory implements InventoryDriver {
  readonly #options: Resources;

  constructor(options: Resources) {
    this.#options = options;
  }

  async read(signal: AbortSignal): Promise<Hardware> {
    const { value: system } = await this.#options.system.read(signal);
    const gaps = new Map<string, Unread>();
    const limits: ReadLimits = {
      members: MOST_MEMBERS,
      requests: { left: MOST_REQUESTS },
      unread: (gap) => gaps.set(gap.name, gap),
    };
    const reading = new Reading(this.#options, limits, signal);
    const hardware: Hardware = {
      system: systemOf(system),
      ...(await reading.enclosure()),
      ...defined({ bmc: await reading.bmc() }),
      processors: await reading.collect(system.Processors, ProcessorResource, processor),
      memory: await reading.collect(system.Memory, MemoryResource, dimm),
      disks: await reading.disks(system),
      nics: await reading.nics(system),
      firmware: await reading.collect({ "@odata.id": FIRMWARE }, FirmwareResource, firmware),
    };
    if (limits.requests.left <= 0) {
      this.#options.log.warn({ requests: MOST_REQUESTS }, "inventory truncated: too many resources");
    }
    return gaps.size > 0 ? { ...hardware, unread: [...gaps.values()] } : hardware;
  }
}

/** One reading of the inventory, with its limits. */
class Reading {
  readonly #options: Resources;
  readonly #limits: ReadLimits;
  readonly #signal: AbortSignal;
  #chassis: Promise<readonly Chassis[]> | undefined;

  constructor(options: Resources, limits: ReadLimits, signal: AbortSignal) {
    this.#options = options;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** The first chassis that the system is in, and its mainboard. */
  async enclosure(): Promise<Pick<Hardware, "chassis" | "mainboard">> {
    const { system } = this.#options;
    const found = await this.#tolerant("Chassis", async () => {
      for await (const chassis of chassisOf(system, ChassisResource, this.#signal)) return chassis.value;
      return undefined;
    });
    const parts = await this.#find(found?.Assembly, AssemblyResource);
    return defined({ chassis: found && nameplateOf(found), mainboard: parts && mainboard(parts.value) });
  }

  async bmc(): Promise<Hardware["bmc"]> {
    const found = await this.#tolerant("Manager", () => this.#manager());
    if (!found) return undefined;
    const { value } = found;
    return orUndefined({ ...nameplateOf(value), ...defined({ firmware: text(value.FirmwareVersion) }) });
  }

  /** Undefined where the BMC lists none, which is no gap. */
  async #manager() {
    try {
      return await this.#options.manager.seen(this.#signal);
    } catch (thrown) {
      if (BmcError.from(thrown).class !== "unsupported") throw thrown;
      return undefined;
    }
  }

  /** Below Storage and iLO's SmartStorage; else in SimpleStorage, or below a chassis. */
  async disks(system: System): Promise<Hardware["disks"]> {
    const storages = await this.collect(system.Storage, StorageResource, (_, { Drives }) => Drives);
    const disks = mergeDisks(await this.#drives(storages.flat()), await this.#smartDisks(system));
    if (disks.length > 0) return disks;
    const simple = await this.collect(system.SimpleStorage, SimpleStorageResource, simpleDisks);
    return simple.length > 0 ? simple.flat() : await this.#chassisDisks();
  }

  async #drives(links: readonly z.infer<typeof Link>[]): Promise<Hardware["disks"]> {
    const disks: Hardware["disks"][number][] = [];
    const distinct = [...new Set(links.map((link) => link["@odata.id"]))];
    for (const link of distinct.slice(0, MOST_MEMBERS)) {
      const found = await this.#find({ "@odata.id": link }, DriveResource);
      const drive = found && disk(found.path, found.value);
      if (drive) disks.push(drive);
    }
    return disks;
  }

  async #smartDisks({ Oem: oem }: System): Promise<Hardware["disks"]> {
    const parsed = HpeSystem.safeParse(oem?.["Hpe"] ?? oem?.["Hp"]);
    const links = parsed.data?.Links ?? parsed.data?.links;
    const found = await this.#find(links?.SmartStorage, SmartStorage);
    const all = found?.value.Links ?? found?.value.links;
    const controllers = await this.collect(all?.ArrayControllers, SmartController, (path) => path);
    const disks: Hardware["disks"][number][] = [];
    for (const path of controllers) {
      const drives = { "@odata.id": `${path.replace(/\/$/, "")}/DiskDrives` };
      disks.push(...(await this.collect(drives, SmartDriveResource, smartDisk)));
    }
    return disks;
  }

  async #chassisDisks(): Promise<Hardware["disks"]> {
    const disks: Hardware["disks"][number][] = [];
    for (const { value } of await this.#allChassis()) {
      disks.push(...(await this.#drives(value.Links?.Drives ?? [])));
      if (disks.length === 0) disks.push(...(await this.collect(value.Drives, DriveResource, disk)));
    }
    return disks;
  }

  /** The system's own; else what the network adapters in its chassis have an address for. */
  async nics(system: System): Promise<Hardware["nics"]> {
    const own = await this.collect(system.EthernetInterfaces, NicResource, nic);
    if (own.length > 0) return own;
    const found = new Map<string, Hardware["nics"][number]>();
    for (const { value } of await this.#allChassis()) {
      const adapters = await this.collect(value.NetworkAdapters, AdapterResource, (_, adapter) => adapter);
      for (const { NetworkDeviceFunctions: functions, Ports: ports, NetworkPorts: older } of adapters) {
        for (const link of [functions, ports, older]) {
          const parts = (await this.collect(link, AdapterPartResource, adapterNics)).flat();
          for (const part of parts) if (!found.has(part.mac ?? "")) found.set(part.mac ?? "", part);
          if (parts.length > 0) break;
        }
      }
    }
    return [...found.values()];
  }

  async #allChassis(): Promise<readonly Chassis[]> {
    this.#chassis ??= allChassis(this.#options, this.#limits, this.#signal);
    return await this.#chassis;
  }

  /** The parts in a collection; none where there is no such collection. */
  async collect<T extends z.ZodMiniType, P>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
    part: (path: string, value: z.infer<T>) => P | undefined,
  ): Promise<P[]> {
    const { system, members } = this.#options;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    const found = await this.#tolerant(path, () => members.read(path, schema, this.#signal, this.#limits));
    return (found ?? []).flatMap((resource) => part(resource.path, resource.value) ?? []);
  }

  async #find<T extends z.ZodMiniType>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
  ): Promise<Resource<z.infer<T>> | undefined> {
    const { service } = this.#options.system;
    const path = service.localPath(link?.["@odata.id"]);
    if (path === undefined || this.#limits.requests.left-- <= 0) return undefined;
    return await this.#tolerant(path, () => service.find(path, schema, this.#signal));
  }

  /** What one resource has wrong is no reason to report nothing; a BMC that is gone or refuses the login is. */
  async #tolerant<T>(name: string, read: () => Promise<T>): Promise<T | undefined> {
    return await readable({ name, ...defined({ unread: this.#limits.unread }) }, read);
  }
}

function systemOf(system: System): Hardware["system"] {
  const { Manufacturer, Model, SerialNumber, UUID, BiosVersion, MemorySummary } = system;
  return defined({
    vendor: text(Manufacturer),
    model: text(Model),
    serial: text(SerialNumber),
    uuid: UUID || undefined,
    biosVersion: text(BiosVersion),
    // 0 before the machine's first POST.
    memoryBytes: (MemorySummary?.TotalSystemMemoryGiB ?? 0) * GIB || undefined,
  });
}
