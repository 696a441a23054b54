import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import type { Secret } from "../../secret.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { isSameImage, type MediaType, mediaTypeOf, parseImageAddress } from "./image-address.ts";
import { awaitState, EndUnknown, READ_BACK_MS, refusalOf, reported, unverified } from "./read-back.ts";
import { describeUnread, incompleteList, type Unread } from "./unread.ts";

/** Selects one of the BMC's virtual drives by name, or the first one that accepts the media type. */
export interface MediaDrive {
  /** The BMC's name for the drive. Default: the drive used last, or the first one. */
  readonly name?: string;
  /** The media type that the drive must accept. Default: a CD, or any type if the drive is named. */
  readonly type?: MediaType;
}

/** The credentials with which the BMC logs in to the image server. */
export interface ImageCredentials {
  /** The login name, preceded by a domain (`domain\name`) if the server needs one. */
  readonly username: string;
  readonly password: Secret;
}

/** Options for inserting an image. */
export interface MediaOptions {
  /** The drive. Without a type, a `.img` file is a USB stick and every other image a CD. */
  readonly drive?: MediaDrive;
  /** Without credentials, the BMC fetches the image anonymously. */
  readonly credentials?: ImageCredentials;
  /** Whether the machine may write to a USB stick; false if absent. */
  readonly writable?: boolean;
}

/** An image and how to insert it. */
export interface MediaImage extends MediaOptions {
  /** An address that `parseImageAddress` accepts; BMCs differ in the forms that they accept. */
  readonly url: string;
}

/** The state of a virtual drive. */
export interface MediaState {
  /** Whether the drive contains an image. */
  readonly inserted: boolean;
  /** The image's URL, if the BMC reports it. */
  readonly image?: string;
  /** The drive's name; present only if the request named it or it accepts a USB stick. */
  readonly drive?: string;
  /** False if the BMC reports an image but no connection to the image server. */
  readonly connected?: false;
  /** Whether the machine cannot write to a USB stick, if the BMC reports it. */
  readonly writeProtected?: boolean;
  /** True if the BMC ejects the image when the session that inserted it ends; that session is left open. */
  readonly endsWithSession?: true;
  /** Other drives that could not be read and may contain an image. */
  readonly unread?: readonly Unread[];
}

/** A virtual drive in a list. */
export interface ListedMediaDrive {
  /** The BMC's name for the drive. */
  readonly name: string;
  /** The media types that the drive accepts, in the BMC's words: CD, DVD, Floppy, USBStick; empty if the BMC does not report them. */
  readonly types: readonly string[];
  /** Whether the drive contains an image. */
  readonly inserted: boolean;
  /** The image's URL, if the BMC reports it. */
  readonly image?: string;
  /** How the image is connected, in the BMC's words. */
  readonly connectedVia?: string;
  /** Whether the machine cannot write to the inserted media. */
  readonly writeProtected?: boolean;
}

/** All virtual drives of a BMC. */
export interface MediaList {
  /** The drives in the BMC's order. */
  readonly drives: readonly ListedMediaDrive[];
  /** The drives that could not be read. */
  readonly unread?: readonly Unread[];
}

/**
 * Throws `unsupported` for options that a service between worker and BMC cannot express: a drive, credentials, shares, writing.
 */
export function refuseBeyondUrls(
  service: string,
  { url = "", drive, credentials, writable }: Partial<MediaImage>,
): void {
  const protocol = parseImageAddress(url)?.protocol;
  const refuse = (what: string) => new BmcError("unsupported", `${service} ${what}`);
  if (drive?.name !== undefined) throw refuse("has no names of virtual drives");
  if (credentials) throw refuse("takes no credentials for the image server");
  if (protocol === "nfs" || protocol === "cifs") throw refuse(`takes no images by ${protocol.toUpperCase()}`);
  if (writable) throw refuse("cannot make a USB stick writable");
}

/** Virtual media through one provider. The default drive is the first one that accepts a CD or DVD. */
export interface MediaDriver {
  /** Reads the drive; undefined if the BMC cannot report it. */
  read(signal: AbortSignal, drive?: MediaDrive): Promise<MediaState | undefined>;
  /** Describes what `insert` would send, or `eject` without an image. */
  plan(image: MediaImage | undefined, signal: AbortSignal, drive?: MediaDrive): Promise<string>;
  /** Throws if it is known beforehand that the BMC cannot insert the image. */
  check?(image: MediaImage, signal: AbortSignal): Promise<void>;
  /** Inserts the image. May try several drives and forms of the request until the BMC accepts one. Reads nothing back. */
  insert(image: MediaImage, signal: AbortSignal): Promise<void>;
  eject(signal: AbortSignal, drive?: MediaDrive): Promise<void>;
  list?(signal: AbortSignal): Promise<MediaList>;
  /** The protocols by which the BMC can fetch images, such as HTTP and NFS; undefined if it does not report them. */
  protocols?(signal: AbortSignal): Promise<readonly string[] | undefined>;
}

/** Result of inserting or ejecting an image. */
export interface MediaReport {
  /** Absent where the drive cannot be read. */
  readonly before?: MediaState;
  /** Absent where the drive cannot be read. */
  readonly after?: MediaState;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

const MEDIA = "inserted media";

type MediaDrivers = { readonly media: MediaDriver };

export const mediaOperations = defineOperations({
  title: "virtual media",
  methods: (run: Run<MediaDrivers>) => ({
    /** Reads the state of a virtual drive. */
    getMedia: (signal: AbortSignal = neverAborted(), drive?: MediaDrive): Promise<MediaState> =>
      run(signal, async ({ read }) => reported(MEDIA, await read(({ media }) => media.read(signal, drive)))),

    /** Lists the virtual drives and their images. */
    listMedia: (signal: AbortSignal = neverAborted()): Promise<MediaList> =>
      run(signal, async ({ read }) =>
        reported("virtual drives", await read(async ({ media }) => media.list?.(signal))),
      ),

    /** Ejects the present image, inserts the new one, and reads the drive back. */
    insertMedia: (
      url: string,
      signal: AbortSignal = neverAborted(),
      options?: MediaOptions,
    ): Promise<MediaReport> => {
      const image = imageOf(url, options);
      return run(signal, (access) => insertMedia(portOf(access, signal, image.drive), image));
    },

    /** Empties the virtual drive; an empty one is success. */
    ejectMedia: (signal: AbortSignal = neverAborted(), drive?: MediaDrive): Promise<MediaReport> =>
      run(signal, (access) => ejectMedia(portOf(access, signal, drive))),

    /**
     * What `insertMedia`, or without a URL `ejectMedia`, would send. With a state to assume, the present one is not
     * read.
     */
    planMedia: (
      url: string | undefined,
      signal: AbortSignal = neverAborted(),
      assumed?: MediaState,
      options?: MediaOptions,
    ): Promise<Plan<MediaState | undefined>> => {
      const image = url === undefined ? undefined : imageOf(url, options);
      return run(signal, (access) => {
        const port = portOf(access, signal, image ? image.drive : options?.drive);
        const read = assumed === undefined ? port.read : async () => assumed;
        return planMedia({ ...port, read }, image);
      });
    },
  }),
  check: async ({ read }, signal) => {
    const state = await read(({ media }) => media.read(signal));
    const protocols = await read(async ({ media }) => media.protocols?.(signal));
    const offer = protocols && protocols.length > 0 ? `; takes images by ${protocols.join(", ")}` : "";
    if (!state) return ok(`can be inserted, cannot be read back${offer}`);
    // The image's URL may hold a token.
    const drive = state.inserted ? "a drive with an image in it" : "an empty drive";
    return ok(drive + offer + describeUnread(state.unread, "drive"));
  },
});

function imageOf(url: string, options: MediaOptions = {}): MediaImage {
  return { ...options, url, drive: { type: mediaTypeOf(url), ...options.drive } };
}

/** The virtual drive with retries in place; what the operations need and no more. */
type MediaPort = ReturnType<typeof portOf>;

function portOf(
  { read, write, sleep, progress }: Access<MediaDrivers>,
  signal: AbortSignal,
  drive: MediaDrive | undefined,
) {
  const shown = () => read(({ media }) => media.read(signal, drive));
  /** Reads the drive before it repeats a write, which may already have worked. */
  const patience = (isAsked: (state: MediaState) => boolean): Patience => ({
    isDone: async () => {
      const state = await shown();
      return state !== undefined && isAsked(state);
    },
  });
  return {
    read: shown,
    plan: (image: MediaImage | undefined) => read(({ media }) => media.plan(image, signal, drive)),
    check: (image: MediaImage) => read(async ({ media }) => media.check?.(image, signal)),
    insert: (image: MediaImage) =>
      write(
        ({ media }) => media.insert(image, signal),
        patience((state) => holds(state, image)),
      ),
    eject: () =>
      write(
        ({ media }) => media.eject(signal, drive),
        patience(({ inserted }) => !inserted),
      ),
    sleep,
    progress,
  };
}

const ATTEMPTS = 3;
const PAUSE_MS = 3_000;

/** Ejects the present image, inserts the new one, and reads back that the drive contains it. */
async function insertMedia(port: MediaPort, image: MediaImage): Promise<MediaReport> {
  const before = await port.read();
  // Check before the present image is ejected.
  await port.check(image);
  if (!before) {
    await port.insert(image);
    return { changed: true, summary: `media ${image.url} accepted, cannot be read back` };
  }
  if (before.inserted) await empty(port);
  port.progress("inserting the image");
  for (let attempt = 1; ; attempt += 1) {
    const refusal = await refusalOf(() => port.insert(image));
    // Read once, because some BMCs insert an image although they report an error. A retry would get the same response.
    const isFinal = refusal?.class === "bmc" && !refusal.uncertain;
    const isOpen = refusal instanceof EndUnknown;
    const after = isFinal
      ? reported(MEDIA, await port.read())
      : await until(port, (state) => holds(state, image));
    if (holds(after, image)) {
      return { before, after, changed: true, summary: `media ${image.url} inserted${whereOf(after, image)}` };
    }
    // Do not repeat a request that the BMC may still be executing.
    if (isOpen) throw unverified(`the BMC has ${describeMedia(after)}`, refusal);
    if (isFinal || attempt >= ATTEMPTS) {
      if (refusal) throw refusal;
      const wrong = image.writable && after.writeProtected ? ", write-protected" : "";
      throw new BmcError(
        "verify",
        `asked for media ${image.url}, the BMC has ${describeMedia(after)}${wrong}`,
      );
    }
    await refusalOf(() => port.eject());
    await port.sleep(PAUSE_MS);
  }
}

async function ejectMedia(port: MediaPort): Promise<MediaReport> {
  const before = await port.read();
  if (!before) {
    await port.eject();
    return { changed: true, summary: "eject accepted, cannot be read back" };
  }
  if (!before.inserted && before.unread) {
    throw incompleteList("no image is in the virtual drives that can be read", before.unread);
  }
  if (!before.inserted) return { before, after: before, changed: false, summary: "media already ejected" };
  const after = await empty(port);
  return { before, after, changed: true, summary: "media ejected" };
}

async function planMedia(
  port: MediaPort,
  image: MediaImage | undefined,
): Promise<Plan<MediaState | undefined>> {
  const before = await port.read();
  if (image) await port.check(image);
  const eject = before?.inserted || (!before && !image) ? [await port.plan(undefined)] : [];
  return { before, steps: image ? [...eject, await port.plan(image)] : eject };
}

/** For people: `no media`, `http://.../rescue.iso`. */
export function describeMedia({ inserted, image, connected, unread }: MediaState): string {
  const media = inserted ? (image ?? "some media") : "no media";
  return media + (connected === false ? " (not connected)" : "") + describeUnread(unread, "drive");
}

/** For people: `2 drives: CD (CD, DVD) with http://.../rescue.iso, RemovableDisk (USBStick) empty`. */
export function describeDrives({ drives, unread }: MediaList): string {
  const each = drives.map(({ name, types, inserted, image }) => {
    const takes = types.length > 0 ? ` (${types.join(", ")})` : "";
    return `${name}${takes} ${inserted ? `with ${image ?? "some media"}` : "empty"}`;
  });
  const all = each.length > 0 ? `: ${each.join(", ")}` : "";
  return `${count(drives.length, "drive")}${all}${describeUnread(unread, "drive")}`;
}

/** The end of a summary: the drive if it was named, and whether the BMC protects a USB stick as requested. */
function whereOf({ drive, writeProtected, endsWithSession }: MediaState, { writable }: MediaImage): string {
  const until = endsWithSession ? ", until its login session ends, which is left open" : "";
  const where = (drive === undefined ? "" : ` into drive ${drive}`) + until;
  return where + (!writable && writeProtected === false ? ", which the BMC reports as writable" : "");
}

async function empty(port: MediaPort): Promise<MediaState> {
  const refusal = await refusalOf(() => port.eject());
  const after = await until(port, ({ inserted }) => !inserted);
  if (!after.inserted) return after;
  throw refusal ?? new BmcError("verify", `asked to eject, the BMC still has ${describeMedia(after)}`);
}

/** Whether the drive contains the image. If the BMC does not report which image it is, any image counts. */
function holds(state: MediaState, { url, writable }: MediaImage): boolean {
  if (!state.inserted || state.connected === false) return false;
  if (writable && state.writeProtected === true) return false;
  return state.image === undefined || isSameImage(state.image, url);
}

function until(port: MediaPort, done: (state: MediaState) => boolean): Promise<MediaState> {
  return awaitState(READ_BACK_MS.media, port, async () => reported(MEDIA, await port.read()), done);
}
