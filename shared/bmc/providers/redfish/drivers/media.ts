import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { mediaTypeOf } from "../../../operations/image-address.ts";
import type {
  MediaDrive,
  MediaDriver,
  MediaImage,
  MediaList,
  MediaState,
} from "../../../operations/media.ts";
import { describeUnread, incompleteList, throwIfNoneRead, type Unread } from "../../../operations/unread.ts";
import type { ManagedManager } from "../resources/managed-manager.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { ActionInfo } from "../service/schema.ts";
import { type InsertForm, type MediaRemedy, mediaRemedy } from "./media-refusal.ts";
import {
  insertForms,
  isNamed,
  listedDrive,
  mediaState,
  nameOf,
  type Slot,
  takes,
  takesOnlySticks,
  transferProtocol,
  VirtualMedia,
} from "./media-slot.ts";

const MOST_SLOTS = 16;
const INSERT = "#VirtualMedia.InsertMedia";
const ANY: MediaDrive = {};

export interface MediaHint {
  readonly slot: string;
  /** Index of the body that InsertMedia took. */
  readonly form?: number | undefined;
}

interface InsertRequest extends WriteRequest {
  /** Its index among the forms, for the hint. */
  readonly form: number;
  readonly body: InsertForm;
}

/** What a BMC lists for the parameters of InsertMedia; undefined where it does not say. */
interface Offer {
  readonly protocols: readonly string[] | undefined;
  readonly parameters: readonly string[] | undefined;
}

/** The virtual drives of the system and of its manager; the one used last comes first. */
export class RedfishMedia implements MediaDriver {
  readonly #options: Resources;
  /** Of the drive for CDs that is used without a name. */
  #hint: MediaHint | undefined;
  /** Paths of the drives that were chosen otherwise in this session. */
  readonly #chosen = new Map<string, string>();
  /** The drive as it was read last. */
  #seen: Slot | undefined;
  /** Drives that could not be read when they were last listed. */
  readonly #unread = new Map<string, Unread>();

  constructor(options: Resources, hint: MediaHint | undefined) {
    this.#options = options;
    this.#hint = hint;
  }

  get hint(): MediaHint | undefined {
    return this.#hint;
  }

  async read(signal: AbortSignal, drive = ANY): Promise<MediaState> {
    const slot = await this.#current(drive, signal);
    return { ...mediaState(slot, this.#options.system.behaviour, drive), ...this.#gaps() };
  }

  async list(signal: AbortSignal): Promise<MediaList> {
    const { behaviour } = this.#options.system;
    const drives = (await this.#all(signal)).map((slot) => listedDrive(slot, behaviour));
    throwIfNoneRead(drives.length, [...this.#unread.values()], "virtual drive");
    if (drives.length === 0) {
      throw new BmcError("unsupported", "the BMC offers no virtual drives");
    }
    return { drives, ...this.#gaps() };
  }

  async protocols(signal: AbortSignal): Promise<readonly string[] | undefined> {
    const slot = this.#seen ?? (await this.#current(ANY, signal));
    return (await this.#offer(slot, signal)).protocols;
  }

  async plan(image: MediaImage | undefined, signal: AbortSignal, drive = ANY): Promise<string> {
    const slot = await this.#current(image?.drive ?? drive, signal);
    const [insert] = image ? this.#insertRequests(slot, image) : [];
    return describeWrite(insert ?? this.#ejectRequest(slot));
  }

  async check({ url, drive = ANY, credentials }: MediaImage, signal: AbortSignal): Promise<void> {
    const slot = this.#seen ?? (await this.#current(drive, signal));
    const protocol = transferProtocol(url);
    const isPlain = /^https?$/i.test(protocol) && !credentials;
    // What a drive lists itself costs no request.
    const { protocols, parameters } = await this.#offer(slot, isPlain ? undefined : signal);
    if (protocols && !protocols.some((offered) => offered.toUpperCase() === protocol)) {
      const offered = protocols.join(", ");
      const message = `drive ${nameOf(slot)} takes images by ${offered}, not by ${protocol}`;
      throw new BmcError("unsupported", message);
    }
    if (credentials && parameters && !parameters.includes("UserName")) {
      throw new BmcError("unsupported", `drive ${nameOf(slot)} takes no credentials for the image server`);
    }
  }

  async insert(image: MediaImage, signal: AbortSignal): Promise<void> {
    const { drive = ANY } = image;
    let refused: BmcError | undefined;
    for await (const slot of this.#slots(drive, signal)) {
      refused = await this.#insertInto(slot, image, signal);
      if (!refused) return;
      this.#options.log.debug({ slot: slot.path, reason: refused.message }, "trying the next virtual drive");
    }
    throw refused ?? this.#noDrive(drive);
  }

  async eject(signal: AbortSignal, drive = ANY): Promise<void> {
    const { system, writer } = this.#options;
    const slot = await this.#current(drive, signal);
    // Nothing to take out; some BMCs refuse to try.
    if (!mediaState(slot, system.behaviour).inserted) return;
    await writer.write(this.#ejectRequest(slot), signal);
  }

  /** Undefined when the drive took it, the reason when another drive may do; a reason that holds for all throws. */
  async #insertInto(slot: Slot, image: MediaImage, signal: AbortSignal): Promise<BmcError | undefined> {
    const { system, writer } = this.#options;
    const { drive = ANY } = image;
    const known = isDefault(drive) && this.#hint?.slot === slot.path ? this.#hint.form : undefined;
    const requests = this.#insertRequests(slot, image);
    const remedies: MediaRemedy[] = [];
    let refused: BmcError | undefined;
    for (const request of requests.toSorted((a, b) => Number(b.form === known) - Number(a.form === known))) {
      if (!remedies.every((remedy) => remedy.takes(request.body))) continue;
      const answer = await writer.attempt(request, signal);
      if (answer.status < 300) {
        this.#remember(drive, slot, request.form);
        return undefined;
      }
      refused = system.service.refusal(answer, request);
      if (refused.uncertain || refused.class === "busy" || refused.class === "auth") throw refused;
      const remedy = mediaRemedy(answer, request.body);
      if (remedy.otherDrive) return refused;
      remedies.push(remedy);
    }
    throw refused ?? noDrive(drive);
  }

  #insertRequests(slot: Slot, image: MediaImage): readonly InsertRequest[] {
    const path = this.#target(slot, INSERT);
    // Drives without actions are Lenovo's, which want a share as a host and a path.
    const wanted = path === undefined ? "share" : this.#options.system.behaviour.imageShares;
    const forms = insertForms(image, wanted);
    if (path !== undefined) {
      return forms.map((body, form) => ({ form, method: "POST", path, body, tagPath: slot.path }));
    }
    // Without the action the drive itself is written to, where an image alone does not say that it is in: that comes last.
    return forms
      .map((body, form) => ({ form, method: "PATCH" as const, path: slot.path, body, etag: slot.etag }))
      .toSorted((a, b) => Number("Inserted" in b.body) - Number("Inserted" in a.body));
  }

  #ejectRequest(slot: Slot): WriteRequest {
    const path = this.#target(slot, "#VirtualMedia.EjectMedia");
    if (path !== undefined) return { method: "POST", path, body: {}, tagPath: slot.path };
    return { method: "PATCH", path: slot.path, body: { Image: null, Inserted: false }, etag: slot.etag };
  }

  #target(slot: Slot, action: keyof NonNullable<VirtualMedia["Actions"]>): string | undefined {
    return this.#options.system.service.actionPath(slot.path, action, slot.value.Actions?.[action]);
  }

  /** Without a signal only what the drive itself lists. */
  async #offer(slot: Slot, signal: AbortSignal | undefined): Promise<Offer> {
    const { service } = this.#options.system;
    const action = slot.value.Actions?.[INSERT];
    if (!action) return { protocols: undefined, parameters: "UserName" in slot.value ? undefined : [] };
    const path = service.localPath(action?.info);
    const info = path === undefined || !signal ? undefined : await service.find(path, ActionInfo, signal);
    const parameters = info?.value.Parameters ?? [];
    const listed = parameters.find(({ Name }) => Name === "TransferProtocolType")?.AllowableValues;
    const names = parameters.flatMap(({ Name }) => Name ?? []);
    return {
      protocols: action?.values.get("TransferProtocolType") ?? listed,
      parameters: names.length > 0 ? names : undefined,
    };
  }

  #knownPath(drive: MediaDrive): string | undefined {
    return isDefault(drive) ? this.#hint?.slot : this.#chosen.get(keyOf(drive));
  }

  #remember(drive: MediaDrive, slot: Slot, form?: number): void {
    if (isDefault(drive)) this.#hint = { slot: slot.path, ...defined({ form }) };
    else this.#chosen.set(keyOf(drive), slot.path);
  }

  /** The drive that is meant, as it is now. */
  async #current(drive: MediaDrive, signal: AbortSignal): Promise<Slot> {
    this.#seen = await this.#find(drive, signal);
    return this.#seen;
  }

  /** The named drive, or the one used last, else the first that holds such an image, else the first. */
  async #find(drive: MediaDrive, signal: AbortSignal): Promise<Slot> {
    const { service, behaviour } = this.#options.system;
    const path = this.#knownPath(drive);
    const known = path === undefined ? undefined : await service.find(path, VirtualMedia, signal);
    this.#unread.clear();
    if (known) return known;
    if (drive.name !== undefined) return this.#named(drive, drive.name, signal);
    for (const owner of OWNERS) {
      const slots = await this.#slotsOf(owner, drive, signal);
      const current = choose(slots, drive, (slot) => mediaState(slot, behaviour));
      if (!current) continue;
      // An empty drive is no reason to stop looking at those that could not be read.
      const isChosen = this.#unread.size === 0 || mediaState(current, behaviour).inserted;
      if (isChosen) this.#remember(drive, current);
      return current;
    }
    throw this.#noDrive(drive);
  }

  async #named(drive: MediaDrive, name: string, signal: AbortSignal): Promise<Slot> {
    const slots = await this.#all(signal);
    const slot = slots.find((one) => isNamed(one, name));
    if (!slot) {
      if (slots.length === 0) throw this.#noDrive(drive);
      const names = slots.map((one) => `${nameOf(one)}${describeTypes(one)}`).join(", ");
      const unread = describeUnread([...this.#unread.values()], "drive");
      throw new BmcError("usage", `the BMC has no virtual drive ${name}; it has ${names}${unread}`);
    }
    if (drive.type !== undefined && !takes(slot, drive)) {
      const what = drive.type === "usb" ? "USB stick" : "CD";
      throw new BmcError("unsupported", `drive ${nameOf(slot)}${describeTypes(slot)} takes no ${what}`);
    }
    // The others are of no interest.
    this.#unread.clear();
    this.#remember(drive, slot);
    return slot;
  }

  /** Every drive of the system, and those of the manager with other names: some services list the same drives twice. */
  async #all(signal: AbortSignal): Promise<readonly Slot[]> {
    this.#unread.clear();
    const slots = new Map<string, Slot>();
    for (const owner of OWNERS) {
      for (const slot of await this.#members(owner, signal)) {
        const name = nameOf(slot).toLowerCase();
        if (!slots.has(name)) slots.set(name, slot);
      }
    }
    return [...slots.values()];
  }

  /** Every drive that may do once, the one used last first. */
  async *#slots(drive: MediaDrive, signal: AbortSignal): AsyncGenerator<Slot> {
    const seen = new Set<string>();
    const { service } = this.#options.system;
    const path = this.#knownPath(drive);
    const known = path === undefined ? undefined : await service.find(path, VirtualMedia, signal);
    if (known) {
      seen.add(known.path);
      yield known;
    }
    if (drive.name !== undefined) {
      if (!known) yield await this.#named(drive, drive.name, signal);
      return;
    }
    for (const owner of OWNERS) {
      for (const slot of await this.#slotsOf(owner, drive, signal)) {
        if (!seen.has(slot.path)) yield slot;
        seen.add(slot.path);
      }
    }
  }

  async #slotsOf(owner: Owner, drive: MediaDrive, signal: AbortSignal): Promise<readonly Slot[]> {
    const slots = (await this.#members(owner, signal)).filter((slot) => takes(slot, drive));
    if (drive.type !== "usb") return slots;
    return slots.toSorted((a, b) => Number(takesOnlySticks(b)) - Number(takesOnlySticks(a)));
  }

  async #members(owner: Owner, signal: AbortSignal): Promise<readonly Slot[]> {
    const { system, manager, members } = this.#options;
    await system.refresh(signal);
    const link =
      owner === "system"
        ? system.last.value.VirtualMedia
        : (await this.#managerOrNone(manager, signal))?.value.VirtualMedia;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    const limits = { members: MOST_SLOTS, requests: { left: 2 * MOST_SLOTS }, unread: this.#tell };
    return (await members.read(path, VirtualMedia, signal, limits)) ?? [];
  }

  readonly #tell = (gap: Unread): void => {
    this.#unread.set(gap.name, gap);
  };

  #gaps(): { readonly unread?: readonly Unread[] } {
    return this.#unread.size > 0 ? { unread: [...this.#unread.values()] } : {};
  }

  #noDrive(drive: MediaDrive): BmcError {
    if (this.#unread.size === 0) return noDrive(drive);
    return incompleteList("no virtual drive can be read", [...this.#unread.values()]);
  }

  async #managerOrNone(manager: ManagedManager, signal: AbortSignal) {
    try {
      return await manager.seen(signal);
    } catch (error) {
      if (BmcError.from(error).class !== "unsupported") throw error;
      return undefined;
    }
  }
}

/** Newer services list the drives with the system, older ones with the manager. */
const OWNERS = ["system", "manager"] as const;
type Owner = (typeof OWNERS)[number];

/** Whether it is the drive for CDs that the hint remembers. */
function isDefault({ name, type }: MediaDrive): boolean {
  return name === undefined && type !== "usb";
}

function keyOf({ name, type }: MediaDrive): string {
  return JSON.stringify([name?.toLowerCase(), type]);
}

/** The drive that holds such an image, or without a type any, else one that is empty, else the first. */
function choose(
  slots: readonly Slot[],
  { type }: MediaDrive,
  stateOf: (slot: Slot) => MediaState,
): Slot | undefined {
  const states = slots.map((slot) => ({ slot, ...stateOf(slot) }));
  const isSuch = (image: string | undefined) =>
    type === undefined || image === undefined || mediaTypeOf(image) === type;
  const holding = states.find(({ inserted, image }) => inserted && isSuch(image));
  const empty = type === undefined ? undefined : states.find(({ inserted }) => !inserted);
  return (holding ?? empty ?? states[0])?.slot;
}

function describeTypes({ value }: Slot): string {
  return value.MediaTypes && value.MediaTypes.length > 0 ? ` (${value.MediaTypes.join(", ")})` : "";
}

function noDrive({ type }: MediaDrive): BmcError {
  const what = type === "usb" ? "USB stick" : "CD or DVD";
  return new BmcError("unsupported", `the BMC offers no virtual drive that takes a ${what}`);
}
