import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type {
  Hardware,
  HardwareComponent,
  HardwareList,
  InventoryDriver,
} from "../../../operations/inventory.ts";
import type { Unread } from "../../../operations/unread.ts";
import { allChassis, type Chassis, chassisOf } from "../resources/chassis.ts";
import { maySend, type ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import { readable } from "../resources/unreadable.ts";
import { pathKey } from "../service/paths.ts";
import { Link, Links, lenient, System } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import {
  conditionOf,
  gpu,
  mergeParts,
  PowerResource,
  PowerSubsystemResource,
  PowerSupplyResource,
  powerSupply,
  SmartControllerResource,
  StorageControllerResource,
  smartController,
  storageController,
  storageControllers,
  TrustedModules,
  tpms,
} from "./inventory-components.ts";
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
  NicResource,
  nameplateOf,
  nic,
  orUndefined,
  ProcessorResource,
  processor,
  SimpleStorageResource,
  SmartDriveResource,
  simpleDisks,
  smartDisk,
  text,
} from "./inventory-parts.ts";

const FIRMWARE = "/redfish/v1/UpdateService/FirmwareInventory";
/** A BMC that answers in half a second needs five minutes for these requests. A machine of 60 drives needs 120 of them. */
const MOST_REQUESTS = 600;
const MOST_MEMBERS = 256;
const GIB = 1024 ** 3;

/** The maximum number of other systems that are searched for an accelerator board of the machine. */
const MOST_BOARDS = 16;
/** Kinds of chassis that are parts of a board. Recorded ones have no power supplies, and some BMCs have dozens of them. */
const PARTS = ["Component", "Module"];

/** iLO 4 writes the names of its links in lower case. */
const HpeLinks = lenient(z.object({ SmartStorage: lenient(Link) }));
const HpeSystem = z.object({ Links: HpeLinks, links: HpeLinks });
const SmartLinks = lenient(z.object({ ArrayControllers: lenient(Link) }));
const SmartStorage = z.object({ Links: SmartLinks, links: SmartLinks });
/** Storage (DSP0268): a subsystem with its controllers and links to its drives. */
const StorageResource = z.object({
  Id: lenient(z.string()),
  Status: lenient(z.object({})),
  Drives: Links,
  ...storageControllers,
});
type Storage = z.infer<typeof StorageResource>;
type SmartController = z.infer<typeof SmartControllerResource>;

/** Reads the hardware of the machine. Parts that cannot be read are left out and named. */
export class RedfishInventory implements InventoryDriver {
  readonly #options: Resources;

  constructor(options: Resources) {
    this.#options = options;
  }

  async read(signal: AbortSignal): Promise<Hardware> {
    const { value: system } = await this.#options.system.read(signal);
    const reading = new Reading(this.#options, signal);
    const enclosure = await reading.enclosure();
    const bmc = await reading.bmc();
    const processors = await reading.track(() =>
      reading.collect(system.Processors, ProcessorResource, found),
    );
    const storages = await reading.track(() => reading.collect(system.Storage, StorageResource, found));
    const smart = await reading.track(() => reading.smartControllers(system));
    const hardware: Hardware = {
      system: systemOf(system),
      ...enclosure,
      ...defined({ bmc }),
      processors: await reading.list("processors", async () => parts(processors.value, processor), [
        processors,
      ]),
      memory: await reading.list("memory", () => reading.collect(system.Memory, MemoryResource, dimm)),
      disks: await reading.list("disks", () => reading.disks(system, storages.value, smart.value), [
        storages,
        smart,
      ]),
      nics: await reading.list("nics", () => reading.nics(system)),
      firmware: await reading.list("firmware", () =>
        reading.collect({ "@odata.id": FIRMWARE }, FirmwareResource, firmware),
      ),
      powerSupplies: await reading.list("powerSupplies", () => reading.powerSupplies()),
      tpms: await reading.list("tpms", async () => reading.tpms(system)),
      storageControllers: await reading.list(
        "storageControllers",
        () => reading.storageControllers(storages.value, smart.value),
        [storages, smart],
      ),
      gpus: await reading.list("gpus", () => reading.gpus(processors.value), [processors]),
    };
    const { complete, unread } = reading.end();
    return { ...hardware, ...defined({ complete, unread }) };
  }
}

/**
 * Parts that some BMCs list only elsewhere, such as GPUs among the PCIe devices. An empty list then does not mean that there
 * are none.
 */
const LISTED_ELSEWHERE: ReadonlySet<HardwareList> = new Set(["gpus"]);

/** A value with what it was read from. */
interface Tracked<T> {
  readonly value: T;
  readonly isListed: boolean;
  readonly isWhole: boolean;
}

interface Found<T> {
  readonly path: string;
  readonly value: T;
}

/** One reading of the inventory with its limits. */
class Reading {
  readonly #options: Resources;
  readonly #signal: AbortSignal;
  readonly #limits: ReadLimits = {
    members: MOST_MEMBERS,
    requests: { left: MOST_REQUESTS },
    unread: (gap) => {
      this.#gaps++;
      this.#unread.set(gap.name, gap);
    },
  };
  readonly #unread = new Map<string, Unread>();
  readonly #complete: HardwareList[] = [];
  /** The number of resources that list parts, and the number of those that could not be read. */
  #sources = 0;
  #gaps = 0;
  #chassis: Tracked<readonly Chassis[]> | undefined;

  constructor(options: Resources, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /**
   * Resolves to the result of `read`, whether the BMC has the resource that lists it, and whether all of that could be read.
   */
  async track<T>(read: () => Promise<T>): Promise<Tracked<T>> {
    const [sources, gaps] = [this.#sources, this.#gaps];
    const value = await read();
    const isWhole = this.#gaps === gaps && this.#limits.requests.left > 0;
    return { value, isListed: this.#sources > sources, isWhole };
  }

  /** Reads one list. It is complete if all of its sources are. */
  async list<T>(
    name: HardwareList,
    read: () => Promise<readonly T[]>,
    from: readonly Tracked<unknown>[] = [],
  ): Promise<readonly T[]> {
    const own = await this.track(read);
    const all = [...from, own];
    const saysAll = own.value.length > 0 || !LISTED_ELSEWHERE.has(name);
    if (saysAll && all.some(({ isListed }) => isListed) && all.every(({ isWhole }) => isWhole))
      this.#complete.push(name);
    return own.value;
  }

  end(): Pick<Hardware, "complete" | "unread"> {
    if (this.#limits.requests.left <= 0) {
      this.#options.log.warn({ requests: MOST_REQUESTS }, "inventory truncated: too many resources");
    }
    const unread = [...this.#unread.values()];
    return { complete: this.#complete, ...(unread.length > 0 ? { unread } : {}) };
  }

  /** The first chassis of the system, and its mainboard. */
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
    const nics = await this.list("bmc.nics", () => this.collect(value.EthernetInterfaces, NicResource, nic));
    return orUndefined({
      ...nameplateOf(value),
      ...defined({ firmware: text(value.FirmwareVersion) }),
      ...conditionOf(value),
      ...(nics.length > 0 ? { nics } : {}),
    });
  }

  /** The manager; undefined if the BMC lists none, which is not a gap. */
  async #manager() {
    try {
      return await this.#options.manager.seen(this.#signal);
    } catch (thrown) {
      if (BmcError.from(thrown).class !== "unsupported") throw thrown;
      return undefined;
    }
  }

  /** Disks below Storage and iLO's SmartStorage; otherwise in SimpleStorage, or below a chassis. */
  async disks(
    system: System,
    storages: readonly Found<Storage>[],
    smart: readonly Found<SmartController>[],
  ): Promise<Hardware["disks"]> {
    const links = storages.flatMap(({ value }) => value.Drives);
    const disks = mergeParts(await this.#drives(links), await this.#smartDisks(smart));
    if (disks.length > 0) return disks;
    const simple = await this.collect(system.SimpleStorage, SimpleStorageResource, simpleDisks);
    return simple.length > 0 ? simple.flat() : await this.#chassisDisks();
  }

  async #drives(links: readonly z.infer<typeof Link>[]): Promise<Hardware["disks"]> {
    const disks: Hardware["disks"][number][] = [];
    const distinct = [...new Set(links.map((link) => link["@odata.id"]))];
    for (const link of distinct.slice(0, MOST_MEMBERS)) {
      const found = await this.#find({ "@odata.id": link }, DriveResource);
      // A missing drive that is still linked may not have been removed.
      if (!found) this.#gaps++;
      const drive = found && disk(found.path, found.value);
      if (drive) disks.push(drive);
    }
    return disks;
  }

  async smartControllers({ Oem: oem }: System): Promise<readonly Found<SmartController>[]> {
    const parsed = HpeSystem.safeParse(oem?.["Hpe"] ?? oem?.["Hp"]);
    const links = parsed.data?.Links ?? parsed.data?.links;
    const storage = await this.#find(links?.SmartStorage, SmartStorage);
    const all = storage?.value.Links ?? storage?.value.links;
    return await this.collect(all?.ArrayControllers, SmartControllerResource, found);
  }

  async #smartDisks(controllers: readonly Found<SmartController>[]): Promise<Hardware["disks"]> {
    const disks: Hardware["disks"][number][] = [];
    for (const { path } of controllers) {
      const drives = { "@odata.id": `${path.replace(/\/$/, "")}/DiskDrives` };
      disks.push(...(await this.collect(drives, SmartDriveResource, smartDisk)));
    }
    return disks;
  }

  /** Controllers in Storage, or below it if it contains none; and those of iLO's SmartStorage. */
  async storageControllers(
    storages: readonly Found<Storage>[],
    smart: readonly Found<SmartController>[],
  ): Promise<readonly HardwareComponent[]> {
    const controllers: HardwareComponent[] = [];
    for (const { path, value } of storages) {
      const inside = value.StorageControllers.flatMap((one) => storageController(path, one) ?? []);
      controllers.push(
        ...(inside.length > 0
          ? inside
          : await this.collect(value.Controllers, StorageControllerResource, storageController)),
      );
    }
    return mergeParts(controllers, parts(smart, smartController));
  }

  /** The power supplies of all chassis: in Power, or below PowerSubsystem if Power has none. */
  async powerSupplies(): Promise<NonNullable<Hardware["powerSupplies"]>> {
    let supplies: NonNullable<Hardware["powerSupplies"]> = [];
    for (const { value: chassis } of await this.#allChassis()) {
      if (PARTS.includes(chassis.ChassisType ?? "")) continue;
      const power = await this.#find(chassis.Power, PowerResource);
      if (power?.value.PowerSupplies) this.#sources++;
      const older = (power?.value.PowerSupplies ?? []).flatMap(
        (one) => powerSupply(power?.path ?? "", one) ?? [],
      );
      supplies = mergeParts(
        supplies,
        older.length > 0 ? older : await this.#suppliesBelow(chassis.PowerSubsystem),
      );
    }
    return supplies;
  }

  async #suppliesBelow(
    link: z.infer<typeof Link> | undefined,
  ): Promise<NonNullable<Hardware["powerSupplies"]>> {
    const subsystem = await this.#find(link, PowerSubsystemResource);
    return await this.collect(subsystem?.value.PowerSupplies, PowerSupplyResource, powerSupply);
  }

  tpms({ TrustedModules: modules }: System): NonNullable<Hardware["tpms"]> {
    const parsed = TrustedModules.safeParse(modules);
    if (!parsed.success) return [];
    this.#sources++;
    return tpms(parsed.data);
  }

  /** Graphics processors of the machine, and of accelerator boards that are separate systems. */
  async gpus(
    own: readonly Found<z.infer<typeof ProcessorResource>>[],
  ): Promise<readonly HardwareComponent[]> {
    const { system } = this.#options;
    const linked = (await this.#allChassis()).flatMap(({ value }) => value.Links?.ComputerSystems ?? []);
    const paths = new Map(
      linked
        .flatMap((link) => system.service.localPath(link["@odata.id"]) ?? [])
        .map((path) => [pathKey(path), path]),
    );
    paths.delete(pathKey(system.path));
    const gpus = parts(own, gpu);
    for (const path of [...paths.values()].slice(0, MOST_BOARDS)) {
      const board = await this.#find({ "@odata.id": path }, System);
      // A system that can be reset is another machine.
      if (!board || board.value.Actions?.["#ComputerSystem.Reset"]) continue;
      gpus.push(...(await this.collect(board.value.Processors, ProcessorResource, gpu)));
    }
    return gpus;
  }

  async #chassisDisks(): Promise<Hardware["disks"]> {
    const disks: Hardware["disks"][number][] = [];
    for (const { value } of await this.#allChassis()) {
      disks.push(...(await this.#drives(value.Links?.Drives ?? [])));
      if (disks.length === 0) disks.push(...(await this.collect(value.Drives, DriveResource, disk)));
    }
    return disks;
  }

  /** The system's own interfaces; otherwise those of the network adapters in its chassis that have an address. */
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
    this.#chassis ??= await this.track(() => allChassis(this.#options, this.#limits, this.#signal));
    // Every list that is read from them lacks what could not be read.
    if (!this.#chassis.isWhole) this.#gaps++;
    return this.#chassis.value;
  }

  /** The parts in a collection; none if the collection does not exist. */
  async collect<T extends z.ZodMiniType, P>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
    part: (path: string, value: z.infer<T>) => P | undefined,
  ): Promise<P[]> {
    const { system, members } = this.#options;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    const found = await this.#tolerant(path, () => members.read(path, schema, this.#signal, this.#limits));
    if (found) this.#sources++;
    return (found ?? []).flatMap((resource) => part(resource.path, resource.value) ?? []);
  }

  async #find<T extends z.ZodMiniType>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
  ): Promise<Resource<z.infer<T>> | undefined> {
    const { service } = this.#options.system;
    const path = service.localPath(link?.["@odata.id"]);
    if (path === undefined || !maySend(path, this.#limits)) return undefined;
    return await this.#tolerant(path, () => service.find(path, schema, this.#signal));
  }

  /** Tolerates a problem of one resource, but not a BMC that is gone or refuses the login. */
  async #tolerant<T>(name: string, read: () => Promise<T>): Promise<T | undefined> {
    return await readable({ name, unread: this.#limits.unread }, read);
  }
}

function found<T>(path: string, value: T): Found<T> {
  return { path, value };
}

function parts<T, P>(all: readonly Found<T>[], part: (path: string, value: T) => P | undefined): P[] {
  return all.flatMap(({ path, value }) => part(path, value) ?? []);
}

function systemOf(system: System): Hardware["system"] {
  const { Manufacturer, Model, SerialNumber, UUID, BiosVersion, MemorySummary } = system;
  return defined({
    vendor: text(Manufacturer),
    model: text(Model),
    serial: text(SerialNumber),
    uuid: UUID || undefined,
    biosVersion: text(BiosVersion),
    // The value is 0 before the machine's first POST.
    memoryBytes: (MemorySummary?.TotalSystemMemoryGiB ?? 0) * GIB || undefined,
  });
}
