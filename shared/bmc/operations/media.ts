import { BmcError } from "../../contract/bmc-error.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { awaitState, refusalOf, reported } from "./read-back.ts";
import { describeUnread, type Unread } from "./unread.ts";

export interface MediaImage {
  /** `http`, `https`, `nfs` or `cifs`; BMCs differ in what they take. */
  readonly url: string;
}

/** What is in the virtual drive; the image's URL where the BMC reports it. */
/** The virtual drive. */
export interface MediaState {
  /** Whether an image is in it. */
  readonly inserted: boolean;
  /** The image's URL, if the BMC reports it. */
  readonly image?: string;
  /** Other drives, which could not be read and may hold an image. */
  readonly unread?: readonly Unread[];
}

/** Virtual media through one provider: the first drive that takes a CD or DVD. */
export interface MediaDriver {
  /** Undefined where it cannot be read back. */
  read(signal: AbortSignal): Promise<MediaState | undefined>;
  plan(image: MediaImage | undefined, signal: AbortSignal): Promise<string>;
  /** May try several drives and forms of the request until the BMC takes one; reads nothing back. */
  insert(image: MediaImage, signal: AbortSignal): Promise<void>;
  eject(signal: AbortSignal): Promise<void>;
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
    /** Reads what is in the virtual drive. */
    getMedia: (signal: AbortSignal): Promise<MediaState> =>
      run(signal, async ({ read }) => reported(MEDIA, await read(({ media }) => media.read(signal)))),

    /** Ejects what is in the virtual drive, inserts the image, and reads the drive back. */
    insertMedia: (url: string, signal: AbortSignal): Promise<MediaReport> =>
      run(signal, (access) => insertMedia(portOf(access, signal), { url })),

    /** Empties the virtual drive; an empty one is success. */
    ejectMedia: (signal: AbortSignal): Promise<MediaReport> =>
      run(signal, (access) => ejectMedia(portOf(access, signal))),

    /**
     * What `insertMedia`, or without a URL `ejectMedia`, would send. With a state to assume, the present one is not
     * read.
     */
    planMedia: (
      url: string | undefined,
      signal: AbortSignal,
      assumed?: MediaState,
    ): Promise<Plan<MediaState | undefined>> =>
      run(signal, (access) => {
        const port = portOf(access, signal);
        const read = assumed === undefined ? port.read : async () => assumed;
        return planMedia({ ...port, read }, url === undefined ? undefined : { url });
      }),
  }),
  check: async ({ read }, signal) => {
    const state = await read(({ media }) => media.read(signal));
    if (!state) return ok("can be inserted, cannot be read back");
    // The image's URL may hold a password.
    const drive = state.inserted ? "a drive with an image in it" : "an empty drive";
    return ok(drive + describeUnread(state.unread, "drive"));
  },
});

/** The virtual drive with retries in place; what the operations need and no more. */
type MediaPort = ReturnType<typeof portOf>;

function portOf({ read, write, sleep, progress }: Access<MediaDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ media }) => media.read(signal)),
    plan: (image: MediaImage | undefined) => read(({ media }) => media.plan(image, signal)),
    insert: (image: MediaImage) => write(({ media }) => media.insert(image, signal)),
    eject: () => write(({ media }) => media.eject(signal)),
    sleep,
    progress,
  };
}

/** Dell keeps a stale "Inserted" for some seconds after an eject; others take as long to show an image. */
const ATTEMPTS = 3;
const PAUSE_MS = 3_000;

/** Inserts an image: ejects what is there, inserts, and reads back that this image is in. */
async function insertMedia(port: MediaPort, image: MediaImage): Promise<MediaReport> {
  const before = await port.read();
  if (!before) {
    await port.insert(image);
    return { changed: true, summary: `media ${image.url} accepted, cannot be read back` };
  }
  if (before.inserted) await empty(port);
  port.progress("inserting the image");
  for (let attempt = 1; ; attempt += 1) {
    const refusal = await refusalOf(() => port.insert(image));
    // Some BMCs apply what they refuse: read once. Sending the same image again gets the same answer.
    const isFinal = refusal?.class === "bmc" && !refusal.uncertain;
    const after = isFinal
      ? reported(MEDIA, await port.read())
      : await until(port, (state) => holds(state, image));
    if (holds(after, image)) {
      return { before, after, changed: true, summary: `media ${image.url} inserted` };
    }
    if (isFinal || attempt >= ATTEMPTS) {
      if (refusal) throw refusal;
      throw new BmcError("verify", `asked for media ${image.url}, the BMC has ${describeMedia(after)}`);
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
    throw new BmcError(
      "bmc",
      `no image in the drives that can be read${describeUnread(before.unread, "drive")}`,
    );
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
  const eject = before?.inserted || (!before && !image) ? [await port.plan(undefined)] : [];
  return { before, steps: image ? [...eject, await port.plan(image)] : eject };
}

/** For people: `no media`, `http://.../rescue.iso`. */
export function describeMedia({ inserted, image, unread }: MediaState): string {
  return (inserted ? (image ?? "some media") : "no media") + describeUnread(unread, "drive");
}

async function empty(port: MediaPort): Promise<MediaState> {
  const refusal = await refusalOf(() => port.eject());
  const after = await until(port, ({ inserted }) => !inserted);
  if (!after.inserted) return after;
  throw refusal ?? new BmcError("verify", `asked to eject, the BMC still has ${describeMedia(after)}`);
}

/** A BMC that does not report the image is taken at its word that something is in. */
function holds(state: MediaState, { url }: MediaImage): boolean {
  return state.inserted && (state.image === undefined || state.image === url);
}

function until(port: MediaPort, done: (state: MediaState) => boolean): Promise<MediaState> {
  return awaitState([0, PAUSE_MS, PAUSE_MS], port, async () => reported(MEDIA, await port.read()), done);
}
