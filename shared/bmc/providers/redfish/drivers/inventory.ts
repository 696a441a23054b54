import type * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Hardware, InventoryDriver } from "../../../operations/inventory.ts";
import { chassisOf } from "../resources/chassis.ts";
import type { ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import type { Link, System } from "../service/schema.ts";
import {
  AssemblyResource,
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
  StorageResource,
  simpleDisks,
  text,
} from "./inventory-parts.ts";

const FIRMWARE = "/redfish/v1/UpdateService/FirmwareInventory";
/** A BMC that answers in half a second is done with these in five minutes; a machine of 60 drives needs 120. */
const MOST_REQUESTS = 600;
const MOST_MEMBERS = 256;
const GIB = 1024 ** 3;

/** What is built into the machine. A collection that is missing or cannot be read leaves its part empty. */
export class RedfishInventory implements InventoryDriver {
  readonly #options: Resources;

  constructor(options: Resources) {
    this.#options = options;
  }

  async read(signal: AbortSignal): Promise<Hardware> {
    const { value: system } = await this.#options.system.read(signal);
    const limits: ReadLimits = { members: MOST_MEMBERS, requests: { left: MOST_REQUESTS } };
    const collect = <T extends z.ZodMiniType, P>(
      link: z.infer<typeof Link> | undefined,
      schema: T,
      part: (path: string, value: z.infer<T>) => P | undefined,
    ) => this.#collect(link?.["@odata.id"], { schema, part, limits }, signal);
    const hardware: Hardware = {
      system: systemOf(system),
      ...(await this.#enclosure(limits, signal)),
      ...defined({ bmc: await this.#bmc(limits, signal) }),
      processors: await collect(system.Processors, ProcessorResource, processor),
      memory: await collect(system.Memory, MemoryResource, dimm),
      disks: await this.#disks(system, limits, signal),
      nics: await collect(system.EthernetInterfaces, NicResource, nic),
      firmware: await collect({ "@odata.id": FIRMWARE }, FirmwareResource, firmware),
    };
    if (limits.requests.left <= 0) {
      this.#options.log.warn({ requests: MOST_REQUESTS }, "inventory truncated: too many resources");
    }
    return hardware;
  }

  /** The first chassis that the system is in, and its mainboard. */
  async #enclosure(
    { requests }: ReadLimits,
    signal: AbortSignal,
  ): Promise<Pick<Hardware, "chassis" | "mainboard">> {
    const { system } = this.#options;
    requests.left -= 2;
    const found = await this.#tolerant("Chassis", async () => {
      for await (const chassis of chassisOf(system, ChassisResource, signal)) return chassis.value;
      return undefined;
    });
    const path = system.service.localPath(found?.Assembly?.["@odata.id"]);
    const parts =
      path === undefined
        ? undefined
        : await this.#tolerant(path, () => system.service.find(path, AssemblyResource, signal));
    return defined({ chassis: found && nameplateOf(found), mainboard: parts && mainboard(parts.value) });
  }

  async #bmc({ requests }: ReadLimits, signal: AbortSignal): Promise<Hardware["bmc"]> {
    requests.left -= 1;
    const found = await this.#tolerant("Manager", () => this.#options.manager.seen(signal));
    if (!found) return undefined;
    const { value } = found;
    return orUndefined({ ...nameplateOf(value), ...defined({ firmware: text(value.FirmwareVersion) }) });
  }

  async #disks(system: System, limits: ReadLimits, signal: AbortSignal): Promise<Hardware["disks"]> {
    const storages = await this.#collect(
      system.Storage?.["@odata.id"],
      { schema: StorageResource, part: (_, storage) => storage.Drives, limits },
      signal,
    );
    const links = [...new Set(storages.flat().map((link) => link["@odata.id"]))];
    const disks: Hardware["disks"][number][] = [];
    for (const link of links.slice(0, MOST_MEMBERS)) {
      const path = this.#options.system.service.localPath(link);
      if (path === undefined || limits.requests.left-- <= 0) continue;
      const found = await this.#tolerant(path, () =>
        this.#options.system.service.find(path, DriveResource, signal),
      );
      const drive = found && disk(found.path, found.value);
      if (drive) disks.push(drive);
    }
    if (disks.length > 0) return disks;
    const simple = await this.#collect(
      system.SimpleStorage?.["@odata.id"],
      { schema: SimpleStorageResource, part: simpleDisks, limits },
      signal,
    );
    return simple.flat();
  }

  async #collect<T extends z.ZodMiniType, P>(
    link: string | undefined,
    how: {
      readonly schema: T;
      readonly part: (path: string, value: z.infer<T>) => P | undefined;
      readonly limits: ReadLimits;
    },
    signal: AbortSignal,
  ): Promise<P[]> {
    const { system, members } = this.#options;
    const path = system.service.localPath(link);
    if (path === undefined) return [];
    const found = await this.#tolerant(path, () => members.read(path, how.schema, signal, how.limits));
    return (found ?? []).flatMap((resource) => how.part(resource.path, resource.value) ?? []);
  }

  /** What one resource has wrong is no reason to report nothing; a BMC that is gone or says no to us is. */
  async #tolerant<T>(path: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const { class: errorClass, message } = BmcError.from(error);
      if (!["protocol", "bmc", "unsupported"].includes(errorClass)) throw error;
      this.#options.log.debug({ path, reason: message }, "inventory part skipped");
      return undefined;
    }
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
