import { BmcError } from "../../../../contract/bmc-error.ts";
import { differenceOf, type Identity, identityIn } from "../../../operations/identity.ts";
import { isSameImage, mediaTypeOf } from "../../../operations/image-address.ts";
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
import { describeWrite, type Target, type WriteRequest } from "../resources/writer.ts";
import { ActionInfo } from "../service/schema.ts";
import {
  type ExtraParameter,
  type InsertForm,
  isPassing,
  type MediaRemedy,
  mediaRemedy,
} from "./media-refusal.ts";
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
  /** The drive's name. Another drive at its path is not the one that was used. */
  readonly name?: string | undefined;
  /** The index of the body that InsertMedia accepted. */
  readonly form?: number | undefined;
  /** The additional parameters that the BMC requested. */
  readonly extras?: readonly ExtraParameter[] | undefined;
}

interface InsertRequest extends WriteRequest {
  /** The index of the form, for the hint. */
  readonly form: number;
  readonly body: InsertForm;
}

/** How a request is sent to a drive: through its action, or as a PATCH of the drive itself. */
type Way = "action" | "drive";

/** A refused insertion, and what to try next. */
interface Refused {
  readonly error: BmcError;
  readonly rest: MediaRemedy["rest"];
}

/** The values that a BMC lists for the parameters of InsertMedia; undefined if it lists none. */
interface Offer {
  readonly protocols: readonly string[] | undefined;
  readonly parameters: readonly string[] | undefined;
}

/** The virtual drives of the system and its manager; the one that was used last comes first. */
export class RedfishMedia implements MediaDriver {
  readonly #options: Resources;
  /** The hint for the CD drive that is used without a name. */
  #hint: MediaHint | undefined;
  /** Paths of the drives that were selected otherwise in this session. */
  readonly #chosen = new Map<string, string>();
  /**
   * The effect of ending the session on its image: some BMCs unmount it (xcat2/confluent, aiohmi/redfish/command.py).
   * Undefined until a session was ended to find out.
   */
  #image: "in-question" | "ends-with-session" | undefined;
  /** Paths of drives that were written directly although they list an action. */
  readonly #patched = new Set<string>();
  /** The drive that accepted an image last, as it was then. */
  #filled: Slot | undefined;
  /** The drive that was read last. */
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

  /** Forgets the drives, so that the next reading searches them. */
  forget(): void {
    this.#hint = undefined;
    this.#chosen.clear();
  }

  async read(signal: AbortSignal, drive = ANY): Promise<MediaState> {
    const slot = await this.#current(drive, signal);
    const { connected, ...rest } = mediaState(slot, this.#options.system.behaviour, drive);
    // Without the action, ConnectedVia is not kept up to date, because it cannot be written.
    const isKept = connected !== undefined && !this.#patched.has(slot.path);
    const state = isKept ? { ...rest, connected } : rest;
    if (this.#image === "in-question") this.#image = state.inserted ? undefined : "ends-with-session";
    const ends = state.inserted && this.#image === "ends-with-session";
    return { ...state, ...(ends && { endsWithSession: true }), ...this.#gaps() };
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
    const [request] = image ? this.#insertRequests(slot, image) : this.#ejectRequests(slot);
    if (!request) throw noDrive(drive);
    return describeWrite(request);
  }

  async check({ url, drive = ANY, credentials }: MediaImage, signal: AbortSignal): Promise<void> {
    const slot = this.#seen ?? (await this.#current(drive, signal));
    const protocol = transferProtocol(url);
    const isPlain = /^https?$/i.test(protocol) && !credentials;
    // The drive's own lists cost no request.
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
    let first: Refused | undefined;
    const notServed: Slot[] = [];
    for await (const slot of this.#slots(drive, signal)) {
      const refused = await this.#insertInto(slot, image, wayOf(slot), signal);
      if (!refused) return;
      first ??= refused;
      if (refused.rest === "not-served" && wayOf(slot) === "action") notServed.push(slot);
      const reason = refused.error.message;
      this.#options.log.debug({ slot: slot.path, reason }, "trying the next virtual drive");
    }
    for (const slot of notServed) {
      if (!(await this.#insertInto(slot, image, "drive", signal))) return;
    }
    throw first?.error ?? this.#noDrive(drive);
  }

  async eject(signal: AbortSignal, drive = ANY): Promise<void> {
    const { system, writer } = this.#options;
    const slot = await this.#current(drive, signal);
    // There is nothing to eject, and some BMCs refuse to try.
    if (!mediaState(slot, system.behaviour).inserted) return;
    let first: BmcError | undefined;
    for (const request of this.#ejectRequests(slot)) {
      const answer = await writer.attempt(request, signal);
      if (answer.status < 300) return;
      const refused = system.service.refusal(answer, request);
      first ??= refused;
      if (refused.uncertain || refused.class === "busy" || refused.class === "auth") throw refused;
      // The action may have been carried out although it was refused.
      const now = await system.service.findLinked(slot.path, VirtualMedia, signal);
      if (now && !mediaState(now, system.behaviour).inserted) return;
      const { rest } = mediaRemedy(answer, Object(request.body));
      const isForm = request.method === "PATCH" && [400, 422].includes(answer.status);
      if (!isForm && rest !== "not-served") throw refused;
    }
    throw first ?? this.#noDrive(drive);
  }

  /**
   * Inserts into a drive. Resolves to undefined if the drive accepted it, and to the reason if another drive or way may
   * succeed. Throws a reason that applies to all.
   */
  async #insertInto(
    slot: Slot,
    image: MediaImage,
    way: Way,
    signal: AbortSignal,
  ): Promise<Refused | undefined> {
    const { system, writer } = this.#options;
    const { drive = ANY } = image;
    const known = isDefault(drive) && this.#hint?.slot === slot.path ? this.#hint : undefined;
    let extras = image.credentials ? [] : (known?.extras ?? []);
    let first = known?.form;
    const remedies: MediaRemedy[] = [];
    const tried = new Set<string>();
    let refused: Refused | undefined;
    for (;;) {
      const request = this.#insertRequests(slot, image, way, extras)
        .toSorted((a, b) => Number(b.form === first) - Number(a.form === first))
        .find(
          ({ form, body }) =>
            !tried.has(keyOfForm(form, extras)) && remedies.every(({ takes: may }) => may(body)),
        );
      if (!request) break;
      tried.add(keyOfForm(request.form, extras));
      const answer = await writer.attempt(request, signal);
      if (answer.status < 300) {
        this.#filled = slot;
        await this.#settle(slot, image, signal);
        if (way === "drive" && wayOf(slot) === "action") this.#patched.add(slot.path);
        this.#remember(drive, slot, { form: request.form, ...(extras.length > 0 && { extras }) });
        return undefined;
      }
      const error = system.service.refusal(answer, request);
      if (error.uncertain || error.class === "busy" || error.class === "auth") throw error;
      // A reading must show whether it was inserted in spite of that.
      if (isPassing(answer))
        throw new BmcError(error.class, error.message, { cause: error, uncertain: true });
      const remedy = mediaRemedy(answer, request.body);
      refused = { error, rest: remedy.rest };
      // A refusal of something that is offered may have been carried out. A second drive would then contain the image as well.
      if (remedy.rest === "not-served" && (await this.#holds(slot, image, signal))) return undefined;
      remedies.push(remedy);
      if (remedy.asks.length > 0) {
        extras = [...extras, ...remedy.asks];
        first = request.form;
      }
    }
    if (!refused) throw noDrive(drive);
    if (refused.rest === "give-up") throw refused.error;
    return refused;
  }

  /**
   * Logs out and in again, so that the next reading shows what remains without the session. Keeps a session whose end is
   * known to unmount the image. An image that is not yet shown would look as if it had ended with the session.
   */
  async #settle(slot: Slot, image: MediaImage, signal: AbortSignal): Promise<void> {
    const { service } = this.#options.system;
    if (this.#image === "ends-with-session") service.keepSession();
    else if (service.hasSession && (await this.#holds(slot, image, signal)) && (await service.endSession())) {
      this.#image = "in-question";
    }
  }

  async #holds(slot: Slot, { url }: MediaImage, signal: AbortSignal): Promise<boolean> {
    const { service, behaviour } = this.#options.system;
    const now = await service.findLinked(slot.path, VirtualMedia, signal);
    const { inserted, image } = now ? mediaState(now, behaviour) : { inserted: false };
    return inserted && image !== undefined && isSameImage(image, url);
  }

  #insertRequests(
    slot: Slot,
    image: MediaImage,
    way: Way = wayOf(slot),
    extras: readonly ExtraParameter[] = [],
  ): readonly InsertRequest[] {
    const { system } = this.#options;
    const path = way === "action" ? this.#target(slot, INSERT) : undefined;
    // Drives without actions are Lenovo's, which require a share as a host and a path.
    const wanted = path === undefined ? "share" : system.behaviour.imageShares;
    const forms = insertForms(image, { wanted, extras, types: slot.value.MediaTypes ?? [] });
    const targets = targetsOf(slot);
    if (path !== undefined) {
      return forms.map((body, form) => ({
        form,
        method: "POST",
        path,
        body,
        tagPath: slot.path,
        targets,
        effect: "setting",
      }));
    }
    // Without the action, the drive itself is written. There, an image alone does not say that it is inserted, so that form
    // comes last.
    return forms
      .map((body, form) => ({
        form,
        method: "PATCH" as const,
        path: slot.path,
        body,
        etag: slot.etag,
        targets,
      }))
      .toSorted((a, b) => Number("Inserted" in b.body) - Number("Inserted" in a.body));
  }

  /**
   * The requests of an ejection: the action, if there is one; otherwise, or if it is not served, a PATCH of the drive, with
   * `Image` alone if the rest is refused.
   */
  #ejectRequests(slot: Slot): readonly WriteRequest[] {
    const path = this.#target(slot, "#VirtualMedia.EjectMedia");
    const targets = targetsOf(slot);
    const bodies = [{ Image: null, Inserted: false }, { Image: null }];
    const patches = bodies.map((body) => ({
      method: "PATCH" as const,
      path: slot.path,
      body,
      etag: slot.etag,
      targets,
    }));
    if (path === undefined) return patches;
    return [{ method: "POST", path, body: {}, tagPath: slot.path, targets, effect: "setting" }, ...patches];
  }

  #target(slot: Slot, action: keyof NonNullable<VirtualMedia["Actions"]>): string | undefined {
    return this.#options.system.service.actionPath(slot.path, action, slot.value.Actions?.[action]);
  }

  /** What the BMC offers; without a signal, only what the drive itself lists. */
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

  /** The drive that was used last, if it is still in its place. */
  async #known(drive: MediaDrive, signal: AbortSignal): Promise<Slot | undefined> {
    const { system } = this.#options;
    await system.confirm(signal);
    const path = this.#knownPath(drive);
    const known =
      path === undefined ? undefined : await system.service.findLinked(path, VirtualMedia, signal);
    const name = drive.name ?? (isDefault(drive) ? this.#hint?.name : undefined);
    if (known && this.#filled && this.#filled.path === path) checkFilled(this.#filled, known);
    if (!known || (name !== undefined && !isNamed(known, name))) return undefined;
    // BMCs may give its name and place to another drive.
    const mayBeAny = drive.name !== undefined && drive.type === undefined;
    return mayBeAny || takes(known, drive) ? known : undefined;
  }

  #knownPath(drive: MediaDrive): string | undefined {
    return isDefault(drive) ? this.#hint?.slot : this.#chosen.get(keyOf(drive));
  }

  #remember(drive: MediaDrive, slot: Slot, form: Omit<MediaHint, "slot" | "name"> = {}): void {
    if (isDefault(drive)) this.#hint = { slot: slot.path, name: nameOf(slot), ...form };
    else this.#chosen.set(keyOf(drive), slot.path);
  }

  /** The requested drive with its present content. */
  async #current(drive: MediaDrive, signal: AbortSignal): Promise<Slot> {
    this.#seen = await this.#find(drive, signal);
    return this.#seen;
  }

  /** The named drive, or the one that was used last, otherwise the first that holds such an image, otherwise the first. */
  async #find(drive: MediaDrive, signal: AbortSignal): Promise<Slot> {
    const { behaviour } = this.#options.system;
    const known = await this.#known(drive, signal);
    this.#unread.clear();
    if (known) return known;
    if (drive.name !== undefined) return this.#named(drive, drive.name, signal);
    for (const owner of OWNERS) {
      const slots = await this.#slotsOf(owner, drive, signal);
      const current = choose(slots, drive, (slot) => mediaState(slot, behaviour));
      if (!current) continue;
      // After an empty drive, the search continues if others could not be read.
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
    // The other drives do not matter.
    this.#unread.clear();
    this.#remember(drive, slot);
    return slot;
  }

  /** All drives of the system, and those of the manager with other names, because some services list the same drives twice. */
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

  /** All suitable drives once, the one that was used last first. */
  async *#slots(drive: MediaDrive, signal: AbortSignal): AsyncGenerator<Slot> {
    const seen = new Set<string>();
    const known = await this.#known(drive, signal);
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

function targetsOf(slot: Slot): readonly Target[] {
  const { path, value } = slot;
  return [{ what: `drive ${nameOf(slot)}`, path, identity: identityOf(value), identify: identityOf }];
}

/** Throws `verify` if another drive is at the place where an image was sent. */
function checkFilled(filled: Slot, now: Slot): void {
  const difference = differenceOf(identityOf(filled.value), identityOf(now.value));
  if (difference === undefined) return;
  const message = `drive ${nameOf(filled)} is no longer at ${filled.path}, where the image was sent: that has ${difference}, and may have it`;
  throw new BmcError("verify", message, { uncertain: true });
}

/** The identity of a drive. Drives may share a name, so their media types are compared as well. */
function identityOf(body: unknown): Identity {
  const { Id, MediaTypes } = VirtualMedia.parse(body);
  return identityIn({ Id, MediaTypes: MediaTypes?.toSorted().join(", ") });
}

/** Newer services list the drives below the system, older ones below the manager. */
const OWNERS = ["system", "manager"] as const;
type Owner = (typeof OWNERS)[number];

/** Whether the hint remembers this drive, which is only the case for CDs without a name. */
function isDefault({ name, type }: MediaDrive): boolean {
  return name === undefined && type !== "usb";
}

function wayOf({ value }: Slot): Way {
  return value.Actions?.[INSERT] ? "action" : "drive";
}

function keyOfForm(form: number, extras: readonly ExtraParameter[]): string {
  return `${form} ${extras.join()}`;
}

function keyOf({ name, type }: MediaDrive): string {
  return JSON.stringify([name?.toLowerCase(), type]);
}

/** Selects the drive that holds such an image (without a type, any image), otherwise an empty one, otherwise the first. */
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
