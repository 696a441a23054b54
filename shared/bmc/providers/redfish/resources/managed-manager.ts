import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Unread } from "../../../operations/unread.ts";
import { samePath } from "../service/paths.ts";
import { Link, Links, lenient, ResetAction } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import type { Members } from "./members.ts";
import type { ManagedSystem } from "./system.ts";
import { throwUnread } from "./unreadable.ts";

const MANAGERS = "/redfish/v1/Managers";
/** The maximum number of managers to read in order to find the BMC. */
const MOST_MANAGERS = 16;

/** iLO's part of a Manager; `links` in iLO 4. */
const HpeManager = z.object({ Links: lenient(z.object({ DateTimeService: lenient(Link) })) });

/** A Manager, as far as it is read. */
export const Manager = z.object({
  Oem: lenient(z.object({ Hpe: lenient(HpeManager), Hp: lenient(HpeManager) })),
  Id: lenient(z.string()),
  Manufacturer: lenient(z.string()),
  Model: lenient(z.string()),
  FirmwareVersion: lenient(z.string()),
  SerialNumber: lenient(z.string()),
  UUID: lenient(z.string()),
  Status: lenient(z.object({ State: lenient(z.string()), Health: lenient(z.string()) })),
  ManagerType: lenient(z.string()),
  DateTime: lenient(z.string()),
  DateTimeLocalOffset: lenient(z.string()),
  LastResetTime: lenient(z.string()),
  Actions: lenient(z.object({ "#Manager.Reset": lenient(ResetAction) })),
  NetworkProtocol: lenient(Link),
  EthernetInterfaces: lenient(Link),
  VirtualMedia: lenient(Link),
  LogServices: lenient(Link),
  Links: lenient(
    z.object({
      ManagerForServers: Links,
      Oem: lenient(
        z.object({ Dell: lenient(z.object({ DellAttributes: Links, DellLCService: lenient(Link) })) }),
      ),
    }),
  ),
});
export type Manager = z.infer<typeof Manager>;

/** The BMC that manages the system. It is found once and then remembered by its path. */
export class ManagedManager {
  readonly #system: ManagedSystem;
  readonly #members: Members;
  #path: string | undefined;
  #last: Resource<Manager> | undefined;

  constructor(system: ManagedSystem, members: Members, path: string | undefined) {
    this.#system = system;
    this.#members = members;
    this.#path = path;
  }

  /** The path; undefined until it was found. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Forgets the manager, so that the next reading searches it. */
  forget(): void {
    this.#path = undefined;
    this.#last = undefined;
  }

  /** Reads the manager. Throws `unsupported` if the BMC lists none. */
  async read(signal: AbortSignal): Promise<Resource<Manager>> {
    const { service } = this.#system;
    await this.#system.confirm(signal);
    const known = this.#path === undefined ? undefined : await service.find(this.#path, Manager, signal);
    const found = known ?? (await this.#find(signal));
    this.#path = found.path;
    this.#last = found;
    return found;
  }

  /** The latest reading; reads the manager if there is none. */
  async seen(signal: AbortSignal): Promise<Resource<Manager>> {
    return this.#last ?? (await this.read(signal));
  }

  /**
   * Finds the manager: the one that the system names, or that names the system; otherwise the first that calls itself a BMC.
   */
  async #find(signal: AbortSignal): Promise<Resource<Manager>> {
    const { service } = this.#system;
    await this.#system.refresh(signal);
    for (const link of this.#system.last.value.Links?.ManagedBy ?? []) {
      const path = service.localPath(link["@odata.id"]);
      const manager = path === undefined ? undefined : await service.find(path, Manager, signal);
      if (manager) return manager;
    }
    const gaps: Unread[] = [];
    const unread = (gap: Unread) => gaps.push(gap);
    const limits = { members: MOST_MANAGERS, requests: { left: MOST_MANAGERS + 2 }, unread };
    const managers = (await this.#members.read(MANAGERS, Manager, signal, limits)) ?? [];
    const named = managers.find(({ value }) => this.#manages(value));
    if (!named) throwUnread(gaps, "the manager of the system");
    const found = named ?? managers.find(({ value }) => value.ManagerType === "BMC") ?? managers[0];
    if (!found) throw new BmcError("unsupported", "the BMC lists no manager");
    return found;
  }

  #manages({ Links: links }: Manager): boolean {
    const isSystem = (link: string) => samePath(link, this.#system.path);
    return links?.ManagerForServers.some((link) => isSystem(link["@odata.id"])) ?? false;
  }
}
