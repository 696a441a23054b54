import { BmcError } from "../../../../contract/bmc-error.ts";
import type { MediaDriver, MediaImage, MediaState } from "../../../operations/media.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { ManagedManager } from "../resources/managed-manager.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { type InsertForm, type MediaRemedy, mediaRemedy } from "./media-refusal.ts";
import { insertForms, mediaState, type Slot, takesDisc, VirtualMedia } from "./media-slot.ts";

const MOST_SLOTS = 16;

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

/** The virtual drives of the system and of its manager; the one used last comes first. */
export class RedfishMedia implements MediaDriver {
  readonly #options: Resources;
  #hint: MediaHint | undefined;
  /** Drives that could not be read when they were last listed. */
  readonly #unread = new Map<string, Unread>();

  constructor(options: Resources, hint: MediaHint | undefined) {
    this.#options = options;
    this.#hint = hint;
  }

  get hint(): MediaHint | undefined {
    return this.#hint;
  }

  async read(signal: AbortSignal): Promise<MediaState> {
    const slot = await this.#current(signal);
    const unread = [...this.#unread.values()];
    return {
      ...mediaState(slot, this.#options.system.behaviour),
      ...(unread.length > 0 ? { unread } : {}),
    };
  }

  async plan(image: MediaImage | undefined, signal: AbortSignal): Promise<string> {
    const slot = await this.#current(signal);
    const [insert] = image ? this.#insertRequests(slot, image) : [];
    return describeWrite(insert ?? this.#ejectRequest(slot));
  }

  async insert(image: MediaImage, signal: AbortSignal): Promise<void> {
    let refused: BmcError | undefined;
    for await (const slot of this.#slots(signal)) {
      refused = await this.#insertInto(slot, image, signal);
      if (!refused) return;
      this.#options.log.debug({ slot: slot.path, reason: refused.message }, "trying the next virtual drive");
    }
    throw refused ?? this.#noDrive();
  }

  async eject(signal: AbortSignal): Promise<void> {
    const { system, writer } = this.#options;
    const slot = await this.#current(signal);
    // Nothing to take out; some BMCs refuse to try.
    if (!mediaState(slot, system.behaviour).inserted) return;
    await writer.write(this.#ejectRequest(slot), signal);
  }

  /** Undefined when the drive took it, the reason when another drive may do; a reason that holds for all throws. */
  async #insertInto(slot: Slot, image: MediaImage, signal: AbortSignal): Promise<BmcError | undefined> {
    const { system, writer } = this.#options;
    const known = this.#hint?.slot === slot.path ? this.#hint.form : undefined;
    const requests = this.#insertRequests(slot, image);
    const remedies: MediaRemedy[] = [];
    let refused: BmcError | undefined;
    for (const request of requests.toSorted((a, b) => Number(b.form === known) - Number(a.form === known))) {
      if (!remedies.every(({ takes }) => takes(request.body))) continue;
      const answer = await writer.attempt(request, signal);
      if (answer.status < 300) {
        this.#hint = { slot: slot.path, form: request.form };
        return undefined;
      }
      refused = system.service.refusal(answer, request);
      if (refused.class === "busy" || refused.class === "auth") throw refused;
      const remedy = mediaRemedy(answer, request.body);
      if (remedy.otherDrive) return refused;
      remedies.push(remedy);
    }
    throw refused ?? noDrive();
  }

  #insertRequests(slot: Slot, { url }: MediaImage): readonly InsertRequest[] {
    const forms = insertForms(url);
    const path = this.#target(slot, "#VirtualMedia.InsertMedia");
    if (path !== undefined) {
      return forms.map((body, form) => ({ form, method: "POST", path, body, tagPath: slot.path }));
    }
    // Without the action the drive itself is written to, where an image alone does not say that it is in: that comes last.
    const [imageAlone, ...others] = forms.map((body, form) => ({ body, form }));
    return [...others, ...(imageAlone ? [imageAlone] : [])].map(({ body, form }) => ({
      form,
      method: "PATCH",
      path: slot.path,
      body,
      etag: slot.etag,
    }));
  }

  #ejectRequest(slot: Slot): WriteRequest {
    const path = this.#target(slot, "#VirtualMedia.EjectMedia");
    if (path !== undefined) return { method: "POST", path, body: {}, tagPath: slot.path };
    return { method: "PATCH", path: slot.path, body: { Image: null, Inserted: false }, etag: slot.etag };
  }

  #target(slot: Slot, action: keyof NonNullable<VirtualMedia["Actions"]>): string | undefined {
    return this.#options.system.service.actionPath(slot.path, action, slot.value.Actions?.[action]);
  }

  /** The drive used last, else the first that holds something, else the first. */
  async #current(signal: AbortSignal): Promise<Slot> {
    const { service, behaviour } = this.#options.system;
    const known = this.#hint && (await service.find(this.#hint.slot, VirtualMedia, signal));
    this.#unread.clear();
    if (known) return known;
    for (const owner of OWNERS) {
      const slots = await this.#slotsOf(owner, signal);
      const current = slots.find((slot) => mediaState(slot, behaviour).inserted) ?? slots[0];
      if (!current) continue;
      // An empty drive is no reason to stop looking at those that could not be read.
      const isChosen = this.#unread.size === 0 || mediaState(current, behaviour).inserted;
      if (isChosen) this.#hint = { slot: current.path };
      return current;
    }
    throw this.#noDrive();
  }

  /** Every usable drive once, the one used last first. */
  async *#slots(signal: AbortSignal): AsyncGenerator<Slot> {
    const seen = new Set<string>();
    const { service } = this.#options.system;
    const known = this.#hint && (await service.find(this.#hint.slot, VirtualMedia, signal));
    if (known) {
      seen.add(known.path);
      yield known;
    }
    for (const owner of OWNERS) {
      for (const slot of await this.#slotsOf(owner, signal)) {
        if (!seen.has(slot.path)) yield slot;
        seen.add(slot.path);
      }
    }
  }

  async #slotsOf(owner: (typeof OWNERS)[number], signal: AbortSignal): Promise<readonly Slot[]> {
    const { system, manager, members } = this.#options;
    await system.refresh(signal);
    const link =
      owner === "system"
        ? system.last.value.VirtualMedia
        : (await this.#managerOrNone(manager, signal))?.value.VirtualMedia;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    const limits = { members: MOST_SLOTS, requests: { left: 2 * MOST_SLOTS }, unread: this.#tell };
    const slots = (await members.read(path, VirtualMedia, signal, limits)) ?? [];
    return slots.filter(takesDisc);
  }

  readonly #tell = (gap: Unread): void => {
    this.#unread.set(gap.name, gap);
  };

  #noDrive(): BmcError {
    const [unread] = this.#unread.values();
    if (!unread) return noDrive();
    return new BmcError("bmc", `no virtual drive can be read: ${unread.name} (${unread.reason})`);
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

function noDrive(): BmcError {
  return new BmcError("unsupported", "the BMC offers no virtual drive that takes a CD or DVD");
}
